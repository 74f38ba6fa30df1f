//! A request from a page is rejected, or contains a valid system and test. A saved page is a valid study file. A result
//! file is shown as numbers, or rejected.

use lanemark_study::Study;
use lanemark_study::library::Library;
use lanemark_ui::request::{SystemRequest, TestRequest};
use lanemark_ui::{command, result_file, saved};

pub(crate) fn read(question: &[u8]) {
    if let Ok(system) = serde_json::from_slice::<SystemRequest>(question)
        && let Ok(assembled) = system.assemble(&Library::built_in())
    {
        assembled.system.spec.check().unwrap();
        let test: TestRequest = serde_json::from_str(include_str!(
            "../../crates/lanemark-ui/tests/questions/test.json"
        ))
        .unwrap();
        let text =
            saved::study(&Library::built_in(), &[system], &test, &test.read().unwrap()).unwrap();
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        std::fs::write(&file, text).unwrap();
        Study::open(&Library::built_in(), file.path()).unwrap();
    }
    if let Ok(test) = serde_json::from_slice::<TestRequest>(question)
        && test.read().is_ok()
    {
        command::workload(&test, &[]).unwrap();
    }
    if let Ok(summary) = result_file::read(&Library::built_in(), question.to_vec()) {
        // The page would receive a value that is not finite as `null`.
        let summary = serde_json::to_string(&summary).unwrap();
        assert!(!summary.contains("\"value\":null"), "{summary}");
    }
}
