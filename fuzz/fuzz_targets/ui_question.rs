//! A question of a page: it is refused, or its system and its test can be.
#![no_main]

use lanemark_study::library::Library;
use lanemark_ui::asked::{End, SystemAsked, TestAsked, ending};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|question: &[u8]| {
    if let Ok(system) = serde_json::from_slice::<SystemAsked>(question)
        && let Ok(asked) = system.assemble(&Library::built_in())
    {
        asked.system.spec.check().unwrap();
    }
    if let Ok(test) = serde_json::from_slice::<TestAsked>(question)
        && let Ok(test) = test.read()
    {
        let _ = ending(&test, End::Requests(1));
    }
});
