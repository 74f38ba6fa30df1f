//! The help text of the command line: examples for each command, and groups of options.
//!
//! The derived arguments describe each option. The two tables here add the examples and the groups to help, manual
//! pages and completions.

use clap::{Command, CommandFactory};

use crate::args::Args;

/// Examples for each command, keyed by the command's words after the program's name.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "lanemark sim samsung-980-pro-1tb@workstation-x570:m2 crystaldiskmark-8",
            "lanemark path samsung-850-pro-1tb@workstation-z170:sata",
        ],
    ),
    ("study", &["lanemark study sata-express --html page.html"]),
    (
        "sim",
        &[
            "lanemark sim samsung-850-pro-1tb@workstation-z170:sata quick",
            "lanemark sim ./my-drive.toml@raspberry-pi-5:m2 crystaldiskmark-8:rnd4k-q32t1-read",
        ],
    ),
    (
        "sweep",
        &[
            "lanemark sweep samsung-950-pro-512gb@workstation-z170:m2 \\",
            "    --workload crystaldiskmark-8:rnd4k-q32t1-read --axis queue_depth=1..256*2",
        ],
    ),
    ("replay", &["lanemark replay samsung-950-pro-512gb@workstation-z170:m2 trace.csv --speed 2x"]),
    (
        "path",
        &[
            "lanemark path samsung-850-pro-1tb@workstation-z170:sata --svg path.svg",
            "lanemark path workstation-z170",
        ],
    ),
    (
        "inspect",
        &["lanemark inspect nvme0n1 --svg machine.svg", "lanemark inspect --capture machine.tar"],
    ),
    ("bench", &["lanemark bench . --workload quick --explain"]),
    ("host", &["lanemark host measure /mnt/nvme"]),
    ("host measure", &["lanemark host measure /mnt/nvme --out my-host.toml"]),
    ("import", &["lanemark import fio.json --span 10GiB"]),
    ("export", &["lanemark export results/bench.json --output-format fio-json"]),
    ("verify", &["lanemark verify write test.dat --size 1GiB && lanemark verify check test.dat"]),
    (
        "verify write",
        &["lanemark verify write test.dat --size 1GiB --journal /mnt/other/test.journal"],
    ),
    ("verify check", &["lanemark verify check test.dat --after power-cut"]),
    (
        "fit",
        &[
            "lanemark bench . --workload fit --out measured.json",
            "lanemark fit measured.json --platform workstation-x570:m2 --out my-drive.toml",
        ],
    ),
    ("drive", &["lanemark drive show samsung-980-pro-1tb"]),
    (
        "drive new",
        &[
            "lanemark drive new 'Maker Model 2TB' --protocol nvme --generation 4 --lanes 4 \\",
            "    --capacity '2 TB' --read '7450 MB/s' --write '6900 MB/s' --year 2022",
            "lanemark sim ./maker-model-2tb.toml@raspberry-pi-5:m2 crystaldiskmark-8",
        ],
    ),
    ("drive show", &["lanemark drive show samsung-980-pro-1tb"]),
    (
        "whatif",
        &[
            "lanemark whatif samsung-850-pro-1tb@workstation-z170:sata \\",
            "    --drive samsung-950-pro-512gb --port m2",
        ],
    ),
    ("results", &["lanemark results --search '980 rnd4k'"]),
    ("compare", &["lanemark compare before.json after.json"]),
    ("report", &["lanemark report measured.json simulated.json --html page.html"]),
    ("plot", &["lanemark plot measured.json simulated.json --chart percentiles --out tails.svg"]),
    (
        "serve",
        &[
            "lanemark serve samsung-850-pro-1tb@workstation-z170:sata --size 8GiB --memory \\",
            "    --socket drive.sock --control control.sock",
        ],
    ),
    ("serve-control", &["lanemark serve-control control.sock power-cut"]),
    (
        "trial",
        &[
            "lanemark trial samsung-850-pro-1tb@workstation-z170:sata samsung-980-pro-1tb@workstation-x570:m2 \\",
            "    --from . -- git status",
        ],
    ),
    ("plan", &["lanemark plan bandwidth --video 3840x2160 --frames 60"]),
    (
        "plan battery",
        &["lanemark plan battery --system '9 W' --lasts '6 h' --drive '1.4 W' --other '1.1 W'"],
    ),
    (
        "plan bandwidth",
        &["lanemark plan bandwidth --video 3840x2160 --bits 10 --frames 60 --streams 2"],
    ),
    ("plan fleet", &["lanemark plan fleet --present SATA=1.37e6 --other SAS=1.71e6 --nodes 100"]),
    (
        "oltp",
        &[
            "lanemark oltp load --database sqlite:shop.db",
            "lanemark oltp run --database sqlite:shop.db",
        ],
    ),
    ("oltp load", &["lanemark oltp load --database sqlite:shop.db --warehouses 2"]),
    ("oltp run", &["lanemark oltp run --database sqlite:shop.db --users 8 --duration '2 min'"]),
    ("oltp check", &["lanemark oltp check --database sqlite:shop.db"]),
    ("oltp compare", &["lanemark oltp compare sata.json sas.json"]),
    ("oltp live", &["lanemark oltp live oltp-value-sas --csv live.csv"]),
    ("oltp workload", &["lanemark oltp workload results/oltp.json --out shop.toml"]),
    (
        "library",
        &["lanemark library --search 980 --interface nvme", "lanemark library workstation-z170"],
    ),
    ("samples", &["lanemark samples list", "lanemark samples copy measured.json"]),
    ("samples list", &["lanemark samples list"]),
    ("samples copy", &["lanemark samples copy msr.csv", "lanemark samples copy --all samples"]),
    (
        "completions",
        &["lanemark completions bash >~/.local/share/bash-completion/completions/lanemark"],
    ),
    (
        "completions bash",
        &["lanemark completions bash >~/.local/share/bash-completion/completions/lanemark"],
    ),
    ("completions zsh", &["lanemark completions zsh >~/.zfunc/_lanemark"]),
    ("completions fish", &["lanemark completions fish >~/.config/fish/completions/lanemark.fish"]),
    ("completions man", &["lanemark completions man ~/.local/share/man/man1"]),
];

/// Groups of options, each with the names of its options.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Model",
        &[
            "set", "fault", "library", "seed", "model", "platform", "port", "drive", "fit", "like",
            "filled",
        ],
    ),
    (
        "Workload",
        &[
            "workload",
            "size",
            "duration",
            "repeats",
            "steady",
            "track",
            "interval",
            "axis",
            "queue_depth",
            "users",
            "profile",
            "think_times",
            "pause",
            "ramp",
            "warehouses",
            "scale",
        ],
    ),
    (
        "Trace",
        &[
            "trace",
            "trace_format",
            "format",
            "speed",
            "as_fast_as_possible",
            "outstanding",
            "trace_device",
            "device",
            "as_one",
            "action",
            "limit",
            "wrap",
        ],
    ),
    ("Analysis", &["explain", "bottleneck", "no_interval", "target", "jobs"]),
    ("Permission to overwrite", &["overwrite", "i_will_lose_all_data_on"]),
    ("State of the target", &["purge", "precondition", "no_fill"]),
    (
        "Requests",
        &["engine", "buffered", "pin", "no_idle", "sqpoll", "iopoll", "unregistered", "on_error"],
    ),
    ("Database", &["database"]),
    ("Managed server", &["managed", "shared_buffers", "direct_io", "remove"]),
    (
        "Output",
        &[
            "json",
            "out",
            "no_save",
            "html",
            "svg",
            "series",
            "detail",
            "output_format",
            "split",
            "as_platform",
            "capture",
            "watch",
            "measured",
            "table",
        ],
    ),
];

/// Groups for commands in which an option name has another meaning.
const OWN_GROUPS: &[(&str, &[(&str, &[&str])])] = &[
    (
        "drive new",
        &[
            ("Interface", &["protocol", "generation", "lanes", "rate", "phys"]),
            ("Hard disks", &["rpm", "heads", "average_seek", "track_to_track", "cache"]),
            ("Drive", &["kind", "capacity", "year", "nand", "memory", "market", "pseudo_slc"]),
            (
                "Ratings",
                &[
                    "read",
                    "write",
                    "random_read",
                    "random_write",
                    "random_read_qd1",
                    "random_write_qd1",
                    "read_latency",
                    "write_latency",
                    "steady_write",
                    "steady_random_write",
                    "source",
                ],
            ),
        ],
    ),
    (
        "plan fleet",
        &[
            ("Load", &["present", "other", "demand", "nodes", "spare_share", "spare_nodes"]),
            ("Servers", &["drives", "watts", "other_watts", "overhead"]),
            (
                "Prices",
                &[
                    "drive_price",
                    "other_drive_price",
                    "server_price",
                    "licence_price",
                    "years",
                    "energy_price",
                ],
            ),
        ],
    ),
    (
        "serve",
        &[
            ("Addresses", &["socket", "port", "control"]),
            ("Data", &["size", "data", "memory", "over"]),
            ("Time", &["time_scale", "start", "no_latency", "no_self_test"]),
        ],
    ),
    ("plan battery", &[("Power", &["system", "lasts", "drive", "other"])]),
];

/// Returns the command line with examples and groups.
pub(crate) fn command() -> Command {
    with_help_texts(Args::command(), "")
}

/// Adds the examples and groups to `command`, whose words are `words`, and to all its subcommands.
fn with_help_texts(command: Command, words: &str) -> Command {
    let mut command = command.mut_args(|arg| match group(words, arg.get_id().as_str()) {
        Some(group) if !arg.is_positional() => arg.help_heading(group),
        _ => arg,
    });
    if let Some((_, lines)) = EXAMPLES.iter().find(|(known, _)| *known == words) {
        let title = if lines.len() > 1 { "Examples" } else { "Example" };
        let mut text = format!("{title}:\n  {}", lines.join("\n  "));
        if let Some(after) = command.get_after_help() {
            text += &format!("\n\n{after}");
        }
        command = command.after_help(text);
    }
    let names: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for name in names {
        let words = format!("{words} {name}");
        command = command.mut_subcommand(name, |below| with_help_texts(below, words.trim_start()));
    }
    command
}

fn group(words: &str, option: &str) -> Option<&'static str> {
    let own_groups = OWN_GROUPS.iter().find(|(known, _)| *known == words);
    let groups = own_groups.into_iter().flat_map(|(_, groups)| *groups).chain(GROUPS);
    groups.into_iter().find(|(_, options)| options.contains(&option)).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use lanemark_formats::fio::words as shell_words;

    use super::*;

    #[test]
    fn every_example_is_understood() {
        for (words, lines) in EXAMPLES {
            let text = lines.join("\n").replace("\\\n", "");
            for line in text.lines().flat_map(|line| line.split(" && ")) {
                let typed = line.split(" >").next().unwrap();
                let understood =
                    command().try_get_matches_from(shell_words(typed, "example").unwrap());
                assert!(understood.is_ok(), "{words}: {line}: {}", understood.unwrap_err());
            }
        }
    }

    #[test]
    fn examples_are_announced_in_the_number_that_they_have() {
        for (words, lines) in EXAMPLES {
            let command = Command::new("one").after_help("The end.");
            let text = with_help_texts(command, words).get_after_help().unwrap().to_string();
            let title = if lines.len() == 1 { "Example:" } else { "Examples:" };
            assert_eq!(text.lines().next(), Some(title), "{words}");
            assert!(lines.iter().all(|line| text.contains(line)), "{text}");
            assert!(text.ends_with("\n\nThe end."), "{text}");
        }
        assert!(EXAMPLES.iter().any(|(_, lines)| lines.len() == 1));
        assert!(EXAMPLES.iter().any(|(_, lines)| lines.len() == 2));
        assert!(with_help_texts(Command::new("one"), "no command").get_after_help().is_none());
    }

    #[test]
    fn every_name_in_the_tables_is_one_of_the_command_line() {
        fn all(command: &Command, words: &str, found: &mut Vec<(String, Vec<String>)>) {
            let options = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
            found.push((words.to_owned(), options));
            for below in command.get_subcommands() {
                all(below, format!("{words} {}", below.get_name()).trim_start(), found);
            }
        }
        let mut found = Vec::new();
        all(&command(), "", &mut found);
        let is_command = |words: &str| found.iter().any(|(known, _)| known == words);
        for (words, _) in EXAMPLES {
            assert!(is_command(words), "no command `{words}`");
        }
        for option in GROUPS.iter().flat_map(|(_, options)| *options) {
            assert!(
                found.iter().any(|(_, known)| known.iter().any(|one| one == option)),
                "{option}"
            );
        }
        for (words, groups) in OWN_GROUPS {
            let (_, known) = found.iter().find(|(known, _)| known == words).unwrap();
            for option in groups.iter().flat_map(|(_, options)| *options) {
                assert!(known.iter().any(|one| one == option), "{words}: {option}");
            }
        }
    }
}
