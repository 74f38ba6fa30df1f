//! A server whose own disk is full: a request that the model completed counts only if the server answered it without
//! an error.

use lanemark_testbed::Mounted;
use serde_json::Value;

use super::mounted::result;
use super::{Server, folder};

/// Number of writes, whose data is four times as large as the disk.
const WRITES: u64 = 256;

#[test]
fn a_write_that_this_machine_failed_is_an_error_and_not_a_write() {
    let Some(full) = Mounted::with(&["-t", "tmpfs", "-o", "size=256k", "lanemark"]) else { return };
    let data = full.path().join("data");
    let words = ["--data", data.to_str().unwrap(), "--size", "64MiB", "--time-scale", "1"];
    let server = Server::start(folder(), &words);
    let mut client = server.client();
    let outcomes: Vec<Result<(), u32>> = (0..WRITES)
        .map(|number| client.write(number * 4096, &[7; 4096], number % 8 == 7).unwrap())
        .collect();
    let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count() as u64;
    assert!(failed > WRITES / 2 && failed < WRITES, "{failed} of {WRITES} writes failed");
    let (folder, _) = server.stop();
    let result = result(folder.path());
    let sample = &result["tests"][0]["samples"][0];
    let bytes = |direction: &Value| direction["bytes"].as_u64().unwrap();
    assert_eq!(bytes(&sample["writes"]), (WRITES - failed) * 4096);
    assert_eq!(bytes(&sample["live"]["writes"]), (WRITES - failed) * 4096);
    for errors in [&sample["errors"], &sample["live"]["host_errors"]] {
        let requests = errors.as_array().unwrap().iter().map(|count| count["requests"].as_u64());
        assert_eq!(requests.sum::<Option<u64>>(), Some(failed), "{errors}");
        assert_eq!(errors[0]["kind"], "no-space", "{errors}");
    }
    assert!(result["warnings"].to_string().contains("\"failed\""), "{}", result["warnings"]);
}
