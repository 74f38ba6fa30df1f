//! Every reader of foreign files receives valid files, and thousands of inputs that are randomly changed copies of
//! them.
//!
//! `fuzz/` contains the readers and their promises. Here the changes are blind and their seed is constant, so a failure
//! can be reproduced; `make fuzz` searches with libFuzzer. `LANEMARK_FUZZ_SEEDS` names a folder to which the valid
//! files are written for the fuzzer.

#[path = "../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "the programs of `fuzz/` use it as a crate")]
mod fuzz;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fuzz::{CANARY, TARGETS, Target, root, run};
use lanemark_schema::rng::{Rng, StreamKey};

const INPUTS: u64 = 4_000;
/// Number of changed inputs for a target whose reader takes milliseconds.
const INPUTS_OF_SLOW: u64 = 300;
/// The targets whose readers take milliseconds.
const SLOW: [&str; 8] =
    ["capture", "drive", "fio_job", "foreign", "fuse", "priors", "result", "study"];
/// Inputs are cut to this length, because a change in the middle of a long file is rarely reached.
const LENGTH_MAX: usize = 64 << 10;
/// Parts of the formats that random bytes do not produce.
const WORDS: [&str; 16] = [
    "-1",
    "0",
    "1e999",
    "NaN",
    "18446744073709551615",
    "9223372036854775808",
    "\"\"",
    "[]",
    "{}",
    "null",
    "\0",
    "\r\n",
    "\u{202e}",
    "../",
    "%s",
    "[[drive]]",
];

/// Returns the valid inputs of `target`, each with a name.
fn seeds(target: &Target) -> Vec<(String, Vec<u8>)> {
    let texts = target.texts.iter().enumerate();
    let mut found: Vec<(String, Vec<u8>)> =
        texts.map(|(number, text)| (format!("text-{number}"), text.as_bytes().to_vec())).collect();
    for (folder, end) in target.seeds {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_file() && name.ends_with(end) {
                found.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Changes `input` at one position. `other` is another valid input of the same target.
fn change(input: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let length = input.len() as u64;
    let at = rng.below(length + 1) as usize;
    let end = (at + rng.below(64) as usize).min(input.len());
    match rng.below(8) {
        0 => drop(input.drain(at..end)),
        1 => input.truncate(at),
        2 => {
            let part = input[at..end].to_vec();
            input.splice(at..at, part.repeat(1 + rng.below(20) as usize));
        }
        3 => {
            let word = WORDS[rng.below(WORDS.len() as u64) as usize];
            input.splice(at..end.min(at + 8), word.bytes());
        }
        4 => {
            let from = rng.below(other.len() as u64 + 1) as usize;
            let to = (from + rng.below(256) as usize).min(other.len());
            input.splice(at..end, other[from..to].iter().copied());
        }
        5 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
        6 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = [0, 1, 0x7f, 0x80, 0xff, b'0', b'9', b'-'][rng.below(8) as usize];
            }
        }
        _ => {
            // A digit is replaced by a digit, so that only a number is wrong and its file can still be read.
            let digits: Vec<usize> =
                (0..input.len()).filter(|at| input[*at].is_ascii_digit()).collect();
            if !digits.is_empty() {
                input[digits[rng.below(digits.len() as u64) as usize]] = b'0' + rng.below(10) as u8;
            }
        }
    }
}

/// Runs `target` with `input`, and panics with the input if the promise is broken.
fn check(target: &Target, name: &str, input: &[u8]) {
    let begin = Instant::now();
    if catch_unwind(AssertUnwindSafe(|| run(target.name, input))).is_err() {
        let folder = tempfile::tempdir().unwrap().keep();
        let path = folder.join(target.name);
        fs::write(&path, input).unwrap();
        panic!("{}: {name}, changed, breaks a promise: {}", target.name, path.display());
    }
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "{}: {name}, changed, takes 20 seconds",
        target.name
    );
}

#[test]
fn changed_inputs_break_no_promise() {
    let threads = thread::available_parallelism().unwrap().get();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(target) = TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begin = Instant::now();
                    change_inputs_of(target);
                    println!("{}: {:.1} s", target.name, begin.elapsed().as_secs_f64());
                }
            });
        }
    });
}

/// The changes find a broken promise.
#[test]
#[should_panic(expected = "canary: text-0, changed, breaks a promise")]
fn the_canary_dies() {
    change_inputs_of(&CANARY);
}

fn change_inputs_of(target: &Target) {
    let seeds = seeds(target);
    for (name, seed) in &seeds {
        check(target, name, seed);
    }
    let number = TARGETS.iter().position(|one| one.name == target.name).unwrap_or(TARGETS.len());
    let mut rng = Rng::new(StreamKey::from_seed(number as u64));
    let inputs = if SLOW.contains(&target.name) { INPUTS_OF_SLOW } else { INPUTS };
    for _ in 0..inputs {
        let (name, seed) = &seeds[rng.below(seeds.len() as u64) as usize];
        let (_, other) = &seeds[rng.below(seeds.len() as u64) as usize];
        let mut input = seed[..seed.len().min(LENGTH_MAX)].to_vec();
        for _ in 0..=rng.below(4) {
            change(&mut input, other, &mut rng);
        }
        check(target, name, &input);
    }
}

/// Parts of nested and repeated inputs: the text before, the repeated text, and the text after.
const NESTED: [(&str, &str, &str); 16] = [
    ("", "[", ""),
    ("{\"tests\": ", "[", "]"),
    ("{\"jobs\": ", "{\"a\":", "1"),
    ("{\"blockdevices\": ", "[{\"children\": ", ""),
    ("", "<a>", ""),
    ("<Results><TimeSpan>", "<a>", ""),
    ("<topology><object", " a=\"\"", "/></topology>"),
    ("<topology>", "<object type=\"Bridge\">", ""),
    ("a = ", "[", ""),
    ("[drive]\na = ", "{ a = ", "1"),
    ("[drive]\n", "a.", "a = 1\n"),
    ("[", "a.", "a]\n"),
    ("", "[[a]]\n", ""),
    ("", "(", ""),
    ("[global]\n", "[a]\nbs=", "4k"),
    ("", "\n", ""),
];
/// Length of a nested input. The stack of a test's thread has 2 MiB.
const NESTED_LENGTH: usize = 64 << 10;

/// A reader without a limit of depth overflows its stack, which ends the whole test program.
#[test]
fn nested_and_repeated_inputs_break_no_promise() {
    for target in TARGETS {
        for (before, repeated, after) in NESTED {
            let middle = repeated.repeat(NESTED_LENGTH / repeated.len());
            let input = format!("{before}{middle}{after}");
            check(target, repeated, input.as_bytes());
        }
    }
}

/// Each target is a program of `fuzz/`, and starts from valid inputs.
#[test]
fn seeds_of_each_target() {
    let mut programs: Vec<String> = fs::read_dir(root().join("fuzz/fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    programs.sort();
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    let all = || [&CANARY].into_iter().chain(TARGETS);
    assert_eq!(programs, all().map(|target| target.name).collect::<Vec<_>>());
    let folder = std::env::var_os("LANEMARK_FUZZ_SEEDS");
    for target in all() {
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "{} starts from no valid input", target.name);
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{}.rs\"", target.name)),
            "{}",
            target.name
        );
        let program =
            fs::read_to_string(root().join(format!("fuzz/fuzz_targets/{}.rs", target.name)))
                .unwrap();
        assert!(program.contains(&format!("run(\"{}\", bytes)", target.name)), "{}", target.name);
        if let Some(folder) = &folder {
            let folder = Path::new(folder).join(target.name);
            fs::create_dir_all(&folder).unwrap();
            for (name, seed) in seeds {
                fs::write(folder.join(name), seed).unwrap();
            }
        }
    }
}
