//! The page of `lanemark report` in a browser: its charts can be saved and printed, and its policy forbids requests and
//! other scripts.

#[path = "../../lanemark-ui/tests/client/axe.rs"]
mod axe;
#[path = "../../lanemark-ui/tests/client/browser.rs"]
#[allow(dead_code, reason = "the browser of another crate's tests, which use more of it")]
mod browser;
#[path = "../../lanemark-ui/tests/client/firefox.rs"]
#[allow(dead_code, reason = "the browser of another crate's tests, which use more of it")]
mod firefox;

use std::path::Path;

use browser::Browser;
use lanemark_testbed::lanemark;
use serde_json::{Value, json};

/// Writes the page of two runs with series, and opens it. Returns `None` if there is no browser.
fn open_page(folder: &Path, profile: &Path) -> Option<Browser> {
    for (seed, name) in [("1", "one.json"), ("2", "two.json")] {
        let system = "samsung-850-pro-1tb@workstation-z170:sata";
        let arguments = ["sim", system, "crystaldiskmark-8", "--seed", seed, "--no-interval"];
        let scale = ["--duration", "50ms", "--repeats", "2", "--interval", "1ms", "--out", name];
        lanemark!(folder, &[arguments.as_slice(), &scale].concat()).stdout();
    }
    lanemark!(folder, &["report", "one.json", "two.json", "--out", "page.html"]).stdout();
    let address = format!("file://{}", folder.join("page.html").display());
    let mut browser = Browser::start(profile)?;
    browser.screen(1280, "light");
    browser.ask("Page.navigate", json!({"url": address}));
    browser.wait("document.readyState === 'complete' && document.querySelector('.save') !== null");
    Some(browser)
}

/// Presses the first button for this kind of file, and returns the name of the file and the first bytes of its content.
fn saved(browser: &mut Browser, kind: &str, expression: &str) -> Value {
    browser.value(&format!(
        "new Promise((done) => {{
            let blob;
            URL.createObjectURL = (saved) => {{ blob = saved; return 'blob:x'; }};
            HTMLAnchorElement.prototype.click = function () {{
                const name = this.download;
                ({expression})(blob).then((content) => done([name, content]));
            }};
            [...document.querySelectorAll('.save button')].find((one) => one.textContent === '{kind}').click();
        }})"
    ))
}

#[test]
fn charts_are_saved_as_svg_and_png_and_the_policy_forbids_the_rest() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let Some(mut browser) = open_page(folder.path(), profile.path()) else { return };
    let charts = browser.value("document.querySelectorAll('figure svg[role=img]').length");
    assert!(charts.as_u64().unwrap() > 8, "{charts}");
    assert_eq!(browser.value("document.querySelectorAll('.save').length"), charts);
    assert_eq!(
        browser.value("document.querySelectorAll('.save button').length").as_u64(),
        charts.as_u64().map(|charts| 2 * charts)
    );
    browser.picture("report-light");

    let svg = saved(&mut browser, "SVG", "(blob) => blob.text()");
    let name = svg[0].as_str().unwrap();
    let content = svg[1].as_str().unwrap();
    assert!(name.ends_with(".svg") && name.len() > 5, "{name}");
    assert!(content.starts_with("<svg") && content.ends_with("</svg>"), "{content:.200}");
    assert!(content.contains("fill=\"rgb(") && !content.contains("var("), "{content:.2000}");
    // The title and the values of the chart are in the file.
    assert!(content.contains("MB/s") || content.contains("<text"), "{content:.2000}");
    let size = "(blob) => createImageBitmap(blob).then((image) => [image.width, image.height])";
    let png = saved(&mut browser, "PNG", size);
    let shown = browser.value(
        "(({width, height}) => [2 * width, 2 * height])(document.querySelector('figure svg[role=img]').viewBox.baseVal)",
    );
    assert_eq!(png[0].as_str().unwrap().trim_end_matches(".png"), name.trim_end_matches(".svg"));
    for side in 0..2 {
        let difference = png[1][side].as_f64().unwrap() - shown[side].as_f64().unwrap();
        assert!(difference.abs() <= 1.0, "{png} {shown}");
    }
    if let Some(axe) = axe::axe() {
        assert_eq!(axe::violations(&mut browser, &axe), Vec::<String>::new());
    }

    let before = browser.events.len();
    browser.wait("new Promise((done) => fetch('https://example.org/').then(() => done(false), () => done(true)))");
    let ran = "(() => { const one = document.createElement('script'); one.textContent = 'window.other = 1'; document.body.append(one); return window.other === undefined; })()";
    browser.wait(ran);
    browser.events.truncate(before);
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());

    browser.screen(390, "dark");
    browser.wait("document.documentElement.scrollWidth <= 390");
    browser.picture("report-dark-390");
}

#[test]
fn a_print_has_whole_light_pictures_without_buttons() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let Some(mut browser) = open_page(folder.path(), profile.path()) else { return };
    let sheet = json!({"width": 703, "height": 1000, "deviceScaleFactor": 1, "mobile": false});
    browser.ask("Emulation.setDeviceMetricsOverride", sheet);
    let dark = json!([{"name": "prefers-color-scheme", "value": "dark"}]);
    browser.ask("Emulation.setEmulatedMedia", json!({"media": "print", "features": dark}));
    let pictures = "[...document.querySelectorAll('figure svg[role=img]')].map((svg) => svg.getBoundingClientRect())";
    let whole =
        "(box) => box.height > 40 && box.height < 1000 && box.left >= 0 && box.right <= 704";
    assert_eq!(browser.value(&format!("{pictures}.every({whole})")), json!(true));
    let hidden =
        "[...document.querySelectorAll('.save')].every((one) => !one.getClientRects().length)";
    assert_eq!(browser.value(hidden), json!(true));
    let ground = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.value(ground), json!("rgb(255, 255, 255)"));
    let printed = browser.ask("Page.printToPDF", json!({"preferCSSPageSize": true}));
    assert!(printed["data"].as_str().is_some_and(|data| data.starts_with("JVBER")), "no PDF");
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
}
