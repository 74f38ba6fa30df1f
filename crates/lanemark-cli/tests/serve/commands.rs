//! A server's output, its saved results, its control, and its state after a kill.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use lanemark_schema::rng::{Rng, StreamKey};

use super::mounted::result;
use super::{SATA, Server, command, count, folder, stderr};

#[test]
fn a_server_prints_its_address_takes_commands_and_saves_its_result() {
    let server = Server::start(folder(), &["--memory", "--size", "64MiB"]);
    let mut client = server.client();
    assert_eq!(client.size, 64 << 20);
    for page in 0..200u64 {
        client.write(page * 4096, &[page as u8; 4096], false).unwrap().unwrap();
        client.read(page * 4096, 4096).unwrap().unwrap();
    }
    client.flush().unwrap().unwrap();
    let status = server.control(&["status"]);
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(status.contains("lanemark_requests_total{operation=\"read\"} 200"), "{status}");
    assert!(status.ends_with("# EOF\n"), "{status}");
    assert!(server.control(&["fault", "latency", "extra=1ms"]).status.success());
    for (words, wanted) in [
        (&["fault", "nonsense"][..], "there is no fault"),
        (&["fault", "latency", "extra=1ms", "drive=3"], "drives 0 to 0"),
        (&["dance"], "cannot be used with '<SYSTEM>'"),
        (&["status", "quickly"], "unexpected argument 'quickly'"),
        (&["stop", "it"], "unexpected argument 'it'"),
        (&["cut", "5s", "at=9s"], "unexpected argument 'at=9s'"),
    ] {
        let output = server.control(words);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
    }
    assert!(server.control(&["cut", "1ms"]).status.success());
    std::thread::sleep(Duration::from_millis(50));
    client.read(0, 4096).unwrap().unwrap();
    drop(client);
    let (folder, output) = server.stop();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("power cut: "), "{}", stderr(&output));
    let result = result(folder.path());
    let sample = &result["tests"][0]["samples"][0];
    assert_eq!(sample["faults"].as_array().unwrap().len(), 2);
    assert_eq!(sample["live"]["time_scale"], 1.0);
    assert!(sample["path"]["hops"].as_array().unwrap().len() > 3);
    let report = command(folder.path(), &["report", "result.json", "--out", "page.html"]).output();
    assert!(report.unwrap().status.success());
}

#[test]
fn a_result_that_there_will_not_be_is_not_taken() {
    let folder = folder();
    for more in [&["--out", "r.json"][..], &["--json"]] {
        let words =
            [&["serve", SATA, "--memory", "--socket", "nbd", "--no-latency"], more].concat();
        let output = command(folder.path(), &words).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("--no-latency"), "{}", stderr(&output));
    }
}

#[test]
fn a_scenario_happens_at_its_times() {
    let folder = folder();
    let scenario = "[[fault]]\nkind = \"pause\"\nat = \"1 us\"\nfor = \"400 ms\"\n\n\
                    [[fault]]\nkind = \"read-only\"\nat = \"600 ms\"\n";
    fs::write(folder.path().join("scenario.toml"), scenario).unwrap();
    let began = Instant::now();
    let arguments = ["--memory", "--size", "1MiB", "--scenario", "scenario.toml"];
    let server = Server::start(folder, &arguments);
    let mut client = server.client();
    client.write(0, &[1; 512], false).unwrap().unwrap();
    // A server takes some time to start; the pause is counted from about the time at which it listens.
    assert!(began.elapsed() > Duration::from_millis(350));
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(client.write(0, &[1; 512], false).unwrap(), Err(1));
    drop(client);
    let (folder, output) = server.stop();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = result(folder.path());
    assert_eq!(result["workload"]["faults"].as_array().unwrap().len(), 2);
    assert_eq!(result["tests"][0]["samples"][0]["faults"].as_array().unwrap().len(), 2);
}

#[test]
fn a_file_that_is_no_scenario_is_refused_with_its_reason() {
    let folder = folder();
    let long = "# a comment\n".repeat(100_000);
    let good = "[[fault]]\nkind = \"retrain\"\nat = \"1 s\"\n";
    for (content, wanted) in [
        ("", "it contains no faults"),
        ("[[fault]]\nkind = \"dance\"\nat = \"1 s\"", "dance"),
        ("[[fault]]\nkind = \"pause\"\nat = \"1 s\"\nfor = \"1 banana\"", "scenario:4"),
        ("[[fault\n", "scenario:1"),
        (&long, "the maximum is 1048576"),
        (&format!("{good}drive = 7\n"), "scenario"),
    ] {
        fs::write(folder.path().join("scenario"), content).unwrap();
        let words = ["serve", SATA, "--port", "0", "--memory", "--scenario", "scenario"];
        let output = command(folder.path(), &words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wanted}: {}", stderr(&output));
        assert!(stderr(&output).contains(wanted), "{wanted}: {}", stderr(&output));
    }
    for (path, wanted) in
        [("/dev/zero", "neither a regular file nor piped in"), ("missing", "No such file")]
    {
        let words = ["serve", SATA, "--port", "0", "--memory", "--scenario", path];
        let output = command(folder.path(), &words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
    }
}

#[test]
fn a_command_that_would_lose_data_is_refused_with_code_3() {
    let folder = folder();
    fs::write(folder.path().join("theirs"), "important").unwrap();
    let words = ["serve", SATA, "--socket", "nbd", "--size", "1MiB", "--data"];
    for (file, wanted) in [("theirs", "--overwrite"), (".", "folder"), ("/dev/null", "regular")] {
        let output = command(folder.path(), &[&words[..], &[file]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
    }
    assert_eq!(fs::read(folder.path().join("theirs")).unwrap(), b"important");
    let two = "samsung-850-pro-1tb@workstation-z170:sata+sata-2";
    let output =
        command(folder.path(), &["serve", two, "--port", "0", "--memory"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("stripe:"), "{}", stderr(&output));
}

/// Returns a block that contains the number of its round in every word, so that mixed data is detected.
fn block(round: u64) -> Vec<u8> {
    round.to_le_bytes().repeat(512)
}

/// The server is killed during writes, each time at a different moment. Each sector of a block contains the last round
/// that was flushed before the kill, or a later round. The next server reports how the previous server ended.
#[test]
fn a_kill_loses_nothing_that_was_flushed() {
    let mut random = Rng::new(StreamKey::from_seed(18));
    let arguments = ["--data", "disk", "--size", "16MiB", "--no-latency"];
    let modelled = &arguments[..4];
    let blocks = 64u64;
    let mut folder = folder();
    let mut round = 0u64;
    let mut flushed = vec![0u64; blocks as usize];
    for kill in 0..count(20, 1_000) {
        let server = Server::start(folder, if kill % 2 == 0 { modelled } else { &arguments });
        let mut client = server.client();
        for at in 0..blocks {
            let bytes = client.read(at * 4096, 4096).unwrap().unwrap();
            for sector in bytes.chunks(512) {
                let found = u64::from_le_bytes(sector[..8].try_into().unwrap());
                assert!(
                    sector.chunks(8).all(|word| word == found.to_le_bytes()),
                    "torn within a sector"
                );
                assert!((flushed[at as usize]..=round).contains(&found), "kill {kill}: {found}");
            }
        }
        let id = server.child.id();
        let moment = Duration::from_micros(300 + random.below(40_000));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(moment);
            Command::new("kill").args(["-KILL", &id.to_string()]).status().unwrap();
        });
        'writing: loop {
            round += 1;
            for at in 0..blocks {
                if !matches!(client.write(at * 4096, &block(round), false), Ok(Ok(()))) {
                    break 'writing;
                }
            }
            if !matches!(client.flush(), Ok(Ok(()))) {
                break;
            }
            flushed.fill(round);
        }
        killer.join().unwrap();
        folder = server.kill();
        let journal = fs::read_to_string(folder.path().join("disk.lanemark")).unwrap();
        assert!(!journal.contains("closed"), "{journal}");
    }
    assert!(round > 2, "{round} rounds");
    let server = Server::start(folder, modelled);
    let (_, output) = server.stop();
    assert!(stderr(&output).contains("did not shut down cleanly"), "{}", stderr(&output));
}
