//! `lanemark serve` as a program.

mod commands;
mod crash;
mod databases;
mod failing;
mod host_verdict;
mod measured;
mod mounted;
mod silent;
mod soak;
mod trials;
mod verdict;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lanemark_testbed::{MountFolder, NbdClient, Running, lanemark, stderr};

const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";

/// Returns the count of a test: `full` if `LANEMARK_SERVE_SOAK` is set, as in `make serve-soak`.
fn count(short: u64, full: u64) -> u64 {
    if std::env::var_os("LANEMARK_SERVE_SOAK").is_some() { full } else { short }
}

/// The options that add another served location.
const PLACES: [&str; 2] = ["--mount", "--attach"];

struct Server {
    child: Running,
    folder: MountFolder,
    /// The printed lines, with the location of the served system.
    addresses: Vec<String>,
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = lanemark!(folder, arguments).command();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn folder() -> MountFolder {
    MountFolder::new()
}

impl Server {
    /// Starts a server with these arguments in addition to the system, the socket and the control socket, and waits
    /// until it listens.
    fn start(folder: MountFolder, arguments: &[&str]) -> Self {
        match Self::try_start(folder, arguments) {
            Ok(server) => server,
            Err(output) => panic!("{}", stderr(&output)),
        }
    }

    /// Starts a server, or returns the message of a server that did not start.
    fn try_start(folder: MountFolder, arguments: &[&str]) -> Result<Self, Output> {
        Self::try_start_of(SATA, folder, arguments)
    }

    fn try_start_of(system: &str, folder: MountFolder, arguments: &[&str]) -> Result<Self, Output> {
        let mut words = vec!["serve", system, "--socket", "nbd", "--control", "control"];
        if !arguments.contains(&"--no-latency") {
            words.extend(["--out", "result.json", "--no-self-test"]);
        }
        words.extend(arguments);
        let mut child = Running::new(command(folder.path(), &words).spawn().unwrap());
        let mut out = BufReader::new(child.stdout.as_mut().unwrap());
        let wanted = 1 + arguments.iter().filter(|word| PLACES.contains(word)).count();
        let mut addresses = Vec::new();
        for _ in 0..wanted {
            let mut line = String::new();
            out.read_line(&mut line).unwrap();
            if line.is_empty() {
                return Err(child.output());
            }
            addresses.push(line.trim().to_owned());
        }
        assert!(addresses[0].starts_with("nbd+unix://"), "{addresses:?}");
        Ok(Self { child, folder, addresses })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn client(&self) -> NbdClient {
        NbdClient::connect(&self.path("nbd")).unwrap()
    }

    fn control(&self, words: &[&str]) -> Output {
        let [verb, words @ ..] = words else { panic!("a command") };
        let words = [&["serve", verb, "control"], words].concat();
        command(self.folder.path(), &words).output().unwrap()
    }

    fn stop(self) -> (MountFolder, Output) {
        let answer = self.control(&["stop"]);
        assert!(answer.status.success());
        (self.folder, self.child.output())
    }

    /// Ends the server with a signal.
    fn signal(self, name: &str) -> (MountFolder, Output) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
        (self.folder, self.child.output())
    }

    /// Kills the server. Its mount stays until the next server removes it.
    fn kill(self) -> MountFolder {
        self.child.kill();
        self.folder
    }
}
