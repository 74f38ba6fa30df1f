//! A database on a MariaDB or MySQL server: its tables, settings, data folder and size.

use std::path::PathBuf;

use mysql::Opts;

use super::{MysqlConnection, parse, quoted};
use crate::backend::{Backend, DatabaseContents, Footprint, judged_contents};
use crate::error::OltpError;
use crate::schema::{ColumnType, INDEXES, Table};
use crate::secrets::without_password;
use crate::session::Connection;

pub(crate) struct MysqlDatabase {
    url: String,
    opts: Opts,
    database: String,
}

impl MysqlDatabase {
    pub(crate) fn new(url: &str) -> Result<Self, OltpError> {
        let (opts, database) = parse(url)?;
        Ok(Self { url: url.to_owned(), opts, database })
    }
}

impl Backend for MysqlDatabase {
    fn name(&self) -> String {
        without_password(&self.url)
    }

    fn kind(&self) -> &'static str {
        "MariaDB/MySQL"
    }

    fn open(&self, create: bool) -> Result<Box<dyn Connection>, OltpError> {
        let opts = self.opts.clone();
        Ok(Box::new(MysqlConnection::connect(opts, &self.database, &self.name(), create)?))
    }

    fn examine_contents(&self) -> Result<DatabaseContents, OltpError> {
        let tables =
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()";
        match self.open(false) {
            Err(OltpError::NotLoaded(_)) => Ok(DatabaseContents::Nothing),
            outcome => judged_contents(outcome?.as_mut(), tables),
        }
    }

    fn remove(&self) -> Result<(), OltpError> {
        self.open(false)?.script(&format!("DROP DATABASE {}", quoted(&self.database)))
    }

    /// Returns SQL that creates our tables, clustered by their keys, and the indexes.
    fn tables(&self) -> String {
        let kind = |name: &str, kind| match kind {
            ColumnType::Small => "SMALLINT",
            ColumnType::Int => "INTEGER",
            ColumnType::Big => "BIGINT",
            // The notes about a customer are the only long text, and no index contains them.
            ColumnType::Text if name == "c_data" => "VARCHAR(500)",
            ColumnType::Text => "VARCHAR(64)",
        };
        // Names are sorted by their bytes, as in the other databases.
        let ending = " ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin";
        Table::ALL.map(|table| table.sql(kind, true, ending)).concat() + INDEXES
    }

    fn keys(&self) -> String {
        String::new()
    }

    fn analysis(&self) -> String {
        format!("ANALYZE TABLE {}", Table::ALL.map(Table::name).join(", "))
    }

    fn settings(&self) -> &'static str {
        "SHOW VARIABLES WHERE Variable_name IN ('version', 'innodb_buffer_pool_size', \
            'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'innodb_doublewrite', \
            'log_bin', 'sync_binlog', 'max_connections', 'tx_isolation', 'transaction_isolation')"
    }

    fn cache(&self) -> &'static str {
        "SELECT @@innodb_buffer_pool_size, CAST(SUM(data_length + index_length) AS SIGNED) \
            FROM information_schema.tables WHERE table_schema = DATABASE()"
    }

    fn data_path(&self) -> Option<PathBuf> {
        let host = self.opts.get_ip_or_hostname();
        let here = matches!(&*host, "localhost" | "127.0.0.1" | "[::1]");
        if self.opts.get_socket().is_none() && !here {
            return None;
        }
        let rows = self.open(false).ok()?.rows("SELECT @@datadir").ok()?;
        Some(rows.first()?[0].text().into())
    }

    fn footprint(&self) -> Footprint {
        // Measured with MariaDB 10.11 and 16 KiB pages.
        Footprint { items: 12_500_000, warehouse: 109_000_000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_the_types_of_the_server_and_no_data_folder_elsewhere() {
        let database = MysqlDatabase::new("mysql://user:secret@203.0.113.7:3306/shop").unwrap();
        assert_eq!(database.data_path(), None, "the server is not on this machine");
        assert_eq!((database.kind(), database.keys().as_str()), ("MariaDB/MySQL", ""));
        assert!(!database.name().contains("secret"));
        let tables = database.tables();
        assert_eq!(tables.matches(" ENGINE = InnoDB").count(), 9);
        assert!(tables.ends_with(INDEXES));
        for column in [
            "c_data VARCHAR(500)",
            "i_data VARCHAR(64)",
            "d_id SMALLINT",
            "w_id INTEGER",
            "w_ytd BIGINT",
        ] {
            assert!(tables.contains(column), "{column}");
        }
        let analysis = "ANALYZE TABLE item, warehouse, stock, district, customer, history, orders, \
                        new_order, order_line";
        assert_eq!(database.analysis(), analysis);
    }
}
