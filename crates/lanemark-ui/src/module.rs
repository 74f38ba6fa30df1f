//! The laboratory as a WebAssembly module: the page writes a request into the module's memory and reads the answer.
//!
//! 1. `room(n)` returns the address of `n` bytes, into which the page writes the request's name and its body.
//! 2. `answer(length)` answers the request, whose name has `length` bytes, and returns the address of the answer.
//! 3. `answer_length()` returns the length of the answer: `{"ok": …}`, or `{"error": {"message": …, "hint": …}}`.
//!
//! A panic passes its message to the page's function `panicked` and ends the module.

use std::cell::RefCell;

use lanemark_lab::LabError;
use serde::Serialize;

use crate::laboratory::Laboratory;

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
}

#[derive(Default)]
struct Module {
    laboratory: Option<Laboratory>,
    request: Vec<u8>,
    answer: Vec<u8>,
}

#[derive(Serialize)]
struct ErrorJson<'e> {
    message: &'e str,
    hint: Option<&'e str>,
}

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Receives the message of a panic.
    safe fn panicked(address: *const u8, length: usize);
}

#[unsafe(no_mangle)]
extern "C" fn room(length: usize) -> *mut u8 {
    MODULE.with_borrow_mut(|module| {
        module.request = vec![0; length];
        module.request.as_mut_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn answer(name_length: usize) -> *const u8 {
    MODULE.with_borrow_mut(|module| {
        let laboratory = module.laboratory.get_or_insert_with(|| {
            std::panic::set_hook(Box::new(|panic| {
                let message = panic.to_string();
                panicked(message.as_ptr(), message.len());
            }));
            Laboratory::default()
        });
        let request = std::mem::take(&mut module.request);
        let (name, body) = request.split_at(name_length.min(request.len()));
        let name = String::from_utf8_lossy(name);
        module.answer = envelope(laboratory.answer(&name, body)).into_bytes();
        module.answer.as_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn answer_length() -> usize {
    MODULE.with_borrow(|module| module.answer.len())
}

fn envelope(answer: Result<String, LabError>) -> String {
    match answer {
        Ok(json) => format!("{{\"ok\":{json}}}"),
        Err(LabError { message, hint, .. }) => {
            let error = ErrorJson { message: &message, hint: hint.as_deref() };
            let json = serde_json::to_string(&error).unwrap_or_default();
            format!("{{\"error\":{json}}}")
        }
    }
}
