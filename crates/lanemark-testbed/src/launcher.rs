//! The `lanemark` command in tests, apart from the user's settings and results.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The variables that would change the command's settings or the folder of its results.
const SETTINGS: [&str; 7] = [
    "LANEMARK_LIBRARY",
    "COLUMNS",
    "NO_COLOR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Prepares a run of the command under test: `lanemark!(folder, arguments)` is a [`Lanemark`]. Without a folder, the
/// command runs in the root of the project.
#[macro_export]
macro_rules! lanemark {
    ($arguments:expr $(,)?) => {
        $crate::lanemark!($crate::project(), $arguments)
    };
    ($folder:expr, $arguments:expr $(,)?) => {
        $crate::Lanemark::new(env!("CARGO_BIN_EXE_lanemark"), $folder.as_ref(), $arguments)
    };
}

/// A run of the command that has not begun. It does not read standard input, does not use the user's settings, and
/// saves results in `results`. Its home is `home` in the folder in which it runs; in the project, it is `home-of-tests`
/// next to the program.
#[derive(Debug)]
pub struct Lanemark(Command);

impl Lanemark {
    /// Prepares a run of `program` in `folder`. [`lanemark!`] supplies the program.
    pub fn new(program: &str, folder: &Path, arguments: &[&str]) -> Self {
        // If the tests run in the background or with nohup(1), children ignore signals.
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,TERM", program]).args(arguments);
        for name in SETTINGS {
            command.env_remove(name);
        }
        let is_project = folder.join("Cargo.toml").exists();
        let home = if is_project {
            Path::new(program).with_file_name("home-of-tests")
        } else {
            folder.join("home")
        };
        command.current_dir(folder).env("HOME", home).stdin(Stdio::null());
        command.env("LANEMARK_RESULTS", "results");
        Self(command)
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Removes a variable from the environment.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.env_remove(name);
        self
    }

    /// Adds the words of a line, which are separated by spaces.
    #[must_use]
    pub fn with(mut self, line: &str) -> Self {
        self.0.args(line.split_whitespace());
        self
    }

    /// Returns the command, for a test that changes it further.
    pub fn command(self) -> Command {
        self.0
    }

    /// Starts the run with pipes for its output.
    ///
    /// # Panics
    /// Panics if the program cannot be started.
    pub fn start(mut self) -> Child {
        self.0.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
    }

    /// Runs the command to its end.
    ///
    /// # Panics
    /// Panics if the program cannot be started.
    pub fn output(mut self) -> Output {
        self.0.output().expect("the command starts")
    }

    /// Runs the command, and returns its texts on stdout and on stderr.
    ///
    /// # Panics
    /// Panics if the command fails.
    #[track_caller]
    pub fn texts(self) -> (String, String) {
        self.ends_with(0)
    }

    /// Runs the command, and returns its text on stdout.
    ///
    /// # Panics
    /// Panics if the command fails.
    #[track_caller]
    pub fn stdout(self) -> String {
        self.texts().0
    }

    /// Runs the command, and returns the JSON that it prints.
    ///
    /// # Panics
    /// Panics if the command fails, or if it prints anything else.
    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.stdout()).expect("the command prints JSON")
    }

    /// Runs the command, and returns its message, which must contain `part`.
    ///
    /// # Panics
    /// Panics if the exit code is not `code`, if the command prints data, or if the message lacks `part`.
    #[track_caller]
    pub fn fails_saying(self, code: i32, part: &str) -> String {
        let arguments = self.arguments();
        let message = self.fails_with(code);
        assert!(message.contains(part), "{arguments}: no `{part}` in: {message}");
        message
    }

    fn arguments(&self) -> String {
        format!("{:?}", self.0.get_args().skip(2).collect::<Vec<_>>())
    }

    /// Runs the command, and returns its message.
    ///
    /// # Panics
    /// Panics if the exit code is not `code`, or if the command prints data.
    #[track_caller]
    pub fn fails_with(self, code: i32) -> String {
        let (printed, message) = self.ends_with(code);
        assert_eq!(printed, "", "data on stdout of a failed command");
        message
    }

    /// Runs the command, and returns its texts on stdout and on stderr.
    ///
    /// # Panics
    /// Panics if the exit code is not `code`.
    #[track_caller]
    pub fn ends_with(self, code: i32) -> (String, String) {
        let arguments = self.arguments();
        let output = self.output();
        let printed = String::from_utf8(output.stdout.clone()).expect("the output is text");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {message}");
        assert!(!message.contains("panicked"), "{arguments}: {message}");
        (printed, message)
    }
}

/// Returns the messages of an ended run.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the root of the project.
///
/// # Panics
/// Panics if the project does not exist.
pub fn project() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the project exists")
}
