//! Studies with their own tests, with faults of one system, and without a publication.

use lanemark_schema::result::{Provenance, Target};
use lanemark_schema::workload::Workload;
use lanemark_sim::spec::{DriveCondition, MediaSpec};
use lanemark_study::{Library, Study, StudyError, System, workload};

mod systems;
use systems::with_settings;

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

/// A workload's precondition is the state of each drive of flash, unless the user states another one. The result names
/// it like a setting.
#[test]
fn a_workload_brings_a_modelled_drive_into_the_state_that_it_requires() {
    let library = Library::built_in();
    let jesd = workload::open(&library, "jesd219-enterprise").unwrap();
    let condition = |system: &System| match &system.preconditioned(&jesd).spec.first().drive.media {
        MediaSpec::Flash(flash) => Some(flash.condition),
        MediaSpec::Disk(_) | MediaSpec::Cloud(_) => None,
    };
    let flash = "samsung-980-pro-1tb@workstation-x570:m2";
    let system = with_settings(flash, &[]).unwrap();
    assert_eq!(condition(&system), Some(DriveCondition::Random));
    let result = system.result(&jesd, Provenance::default(), [None]);
    let Target::Simulated(target) = &result.target else { panic!("a model") };
    let reason = target.overrides[0].reason.as_deref();
    assert_eq!(reason, Some("the precondition of JESD219 enterprise"));
    let fresh = with_settings(flash, &[("drive.state.condition", "fresh")]).unwrap();
    assert_eq!(condition(&fresh), Some(DriveCondition::Fresh));
    // A measured cost of collection contains the effect of the state.
    let beside = [("drive.translation.beside_collection", "25%")];
    let measured = with_settings(flash, &beside).unwrap();
    assert_eq!(condition(&measured), Some(DriveCondition::Fresh));
    let plain = Workload { precondition: None, ..jesd.clone() };
    assert!(matches!(system.preconditioned(&plain), std::borrow::Cow::Borrowed(_)));
    let error = workload::parse(
        "w",
        "[workload]\nname = \"w\"\nrepeats = 1\naverage = \"mean\"\nprecondition = \"fresh\"\n\
         [[test]]\nname = \"t\"\nblock = \"4 KiB\"\npattern = \"random\"\nread = \"0%\"\nspan = \"1 GiB\"\n\
         queue_depth = 1\nduration = \"1 s\"\n",
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("precondition"), "{error}");
}
