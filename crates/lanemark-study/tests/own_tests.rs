//! Studies with their own tests, with faults of one system, and without a publication.

use lanemark_study::{Library, Study, StudyError};

const STUDY: &str = "[study]\ntitle = \"Two drives\"\nquestion = \"Which?\"\n\n\
    [workload]\nname = \"one\"\nrepeats = 2\naverage = \"mean\"\n\n\
    [defaults]\nspan = \"1 GiB\"\nduration = \"10 ms\"\n\n\
    [[test]]\nname = \"rnd\"\nblock = \"4 KiB\"\npattern = \"random\"\nread = \"100%\"\nqueue_depth = 4\n\n\
    [[system]]\nname = \"one\"\nlabel = \"One\"\ndrive = \"samsung-850-pro-1tb\"\n\
    platform = \"workstation-z170\"\nport = \"sata\"\nfaults = [\"pause at=1ms for=1ms\"]\n\n\
    [[system]]\nname = \"other\"\nlabel = \"Other\"\ndrive = \"samsung-950-pro-512gb\"\n\
    platform = \"workstation-z170\"\nport = \"m2\"\n\n\
    [[assumption]]\nsystems = [\"other\"]\nparameter = \"drive.flash.read\"\nvalue = \"70 us\"\n\
    reason = \"tried\"\n";

fn open(text: &str) -> Result<Study, StudyError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.toml");
    std::fs::write(&path, text).unwrap();
    Study::open(&Library::built_in(), &path)
}

/// Returns the error in the study after `from` was replaced by `to`.
fn error(from: &str, to: &str) -> StudyError {
    assert!(STUDY.contains(from));
    open(&STUDY.replacen(from, to, 1)).unwrap_err()
}

#[test]
fn a_study_may_have_its_tests_in_itself_and_faults_of_one_system() {
    let study = open(STUDY).unwrap();
    let systems: Vec<_> = study.systems().collect();
    let tests = systems.iter().map(|(.., workload)| (workload.tests.len(), workload.repeats));
    assert_eq!(tests.collect::<Vec<_>>(), [(1, 2), (1, 2)]);
    let faults: Vec<usize> = systems.iter().map(|(.., workload)| workload.faults.len()).collect();
    assert_eq!(faults, [1, 0]);
    let (_, other, _) = systems[1];
    let set = &other.target.overrides[0];
    assert_eq!((set.parameter.as_str(), set.value.as_str()), ("drive.flash.read", "70 us"));
}

#[test]
fn errors_are_reported_with_their_place() {
    let both = error("question = \"Which?\"", "question = \"Which?\"\nworkload = \"quick\"");
    assert!(both.to_string().contains("has its own tests"), "{both}");
    assert!(both.location.position.is_some());
    let block = error("block = \"4 KiB\"", "block = \"4\"");
    assert_eq!(block.location.position.unwrap().0, 16, "{block}");
    let key = error("queue_depth = 4", "queue_depth = 4\nqueue_deep = 4");
    assert!(key.to_string().contains("queue_deep"), "{key}");
    let fault = error("pause at=1ms", "paws at=1ms");
    assert!(fault.to_string().contains("fault \"paws at=1ms for=1ms\""), "{fault}");
    assert_eq!(fault.location.position.unwrap().0, 27, "{fault}");
    let none = error("[[test]]", "[[tests]]");
    assert!(none.to_string().contains("tests"), "{none}");
    let name = error("[workload]", "[work]");
    assert!(name.to_string().contains("work"), "{name}");
}

#[test]
fn figures_need_a_publication() {
    let figure = "\n[[figure]]\nid = \"A1\"\nsystem = \"one\"\ntest = \"rnd\"\n\
        metric = \"throughput\"\nvalue = 100.0\nplace = \"Table 1\"\n";
    let error = open(&format!("{STUDY}{figure}")).unwrap_err();
    assert!(error.to_string().contains("document"), "{error}");
}
