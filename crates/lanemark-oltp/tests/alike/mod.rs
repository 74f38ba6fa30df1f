//! Compares the contents that transactions leave on a server with the contents on SQLite.

use std::path::Path;

use lanemark_oltp::contents::contents;
use lanemark_oltp::run::User;
use lanemark_oltp::{Database, TransactionKind};

use super::SCALE;
use super::fixture::{assert_consistent, load_into, running};

/// Panics unless one user leaves the same contents in the database as in an SQLite file in `folder`.
pub(crate) fn assert_like_sqlite(database: &Database, folder: &Path) {
    let sqlite = Database::sqlite(folder.join("oltp.db"));
    let found = [database, &sqlite].map(|database| {
        load_into(database, SCALE).unwrap();
        let fresh = contents(database.connect().unwrap().as_mut()).unwrap();
        let mut user = User::new(database, SCALE, &running(1), 0, 0).unwrap();
        let mut rolled_back = 0;
        for _ in 0..900 {
            let kind = user.choose();
            rolled_back += u32::from(user.perform(kind).unwrap());
        }
        // Districts without open orders are skipped.
        for _ in 0..40 {
            user.perform(TransactionKind::Delivery).unwrap();
        }
        assert!(rolled_back > 0);
        assert_consistent(database);
        (fresh, rolled_back, contents(database.connect().unwrap().as_mut()).unwrap())
    });
    assert_eq!(found[0], found[1]);
    assert_ne!(found[0].0, found[0].2);
}
