//! Writes the page as a file: `page MODULE.wasm.gz PAGE.html`.

use std::error::Error;

use lanemark_ui::file::{PageContents, html};

fn main() -> Result<(), Box<dyn Error>> {
    let [module, page] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err("expected: page MODULE.wasm.gz PAGE.html".into());
    };
    std::fs::write(page, html(&std::fs::read(module)?, &PageContents::default()))?;
    Ok(())
}
