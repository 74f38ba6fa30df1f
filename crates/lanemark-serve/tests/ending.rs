//! Tests the end of a process that does not drop its values, as after a signal during the start of a server. The test
//! has its own program, because the end is final.

use std::os::unix::net::UnixListener;

use lanemark_serve::socket::{Endpoint, Listener};
use lanemark_serve::undo::undo_all;

#[test]
fn sockets_are_removed_at_the_end_and_not_recreated() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let listener = Listener::bind(&Endpoint::Unix(first.clone())).unwrap();
    drop(Listener::bind(&Endpoint::Unix(second.clone())).unwrap());
    assert!(first.exists() && !second.exists());
    undo_all();
    assert!(!first.exists());
    let error = Listener::bind(&Endpoint::Unix(second.clone())).unwrap_err();
    assert!(error.to_string().contains("ending") && !second.exists(), "{error}");
    // The next server may use the name before this process has ended.
    let next = UnixListener::bind(&first).unwrap();
    drop(listener);
    assert!(first.exists());
    drop(next);
}
