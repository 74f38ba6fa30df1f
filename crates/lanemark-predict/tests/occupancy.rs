//! If a slower component hides the times of the command engines, these times keep the value and the range of their
//! class.

mod laboratory;

use laboratory::{fitted, library, noisy, number, run, short_workload, small_buffer, system};
use lanemark_schema::result::Determination;

/// The drive has faster engines than the template, and the link of its port carries fewer requests than the engines of
/// either can process.
#[test]
fn a_link_that_is_the_limit_leaves_an_occupancy_to_its_class() {
    let library = library();
    let platform_port = ("intel-p67".to_owned(), "sata-3g".to_owned());
    let settings = [
        ("drive.front_end.read_time".to_owned(), "7 us".to_owned()),
        ("drive.front_end.write_time".to_owned(), "7 us".to_owned()),
        ("drive.front_end.write_latency".to_owned(), "14 us".to_owned()),
        small_buffer(),
    ];
    let truth = system(&library, "generic-sata", &platform_port, &settings).unwrap();
    let measured = noisy(&run(&truth, &short_workload(&library, 60), 77), 0.03, 5);
    let like = Some("generic-sata");
    let fit = fitted(&library, &measured, &platform_port, like, &[small_buffer()], 1000);
    for name in ["drive.front_end.read_time", "drive.front_end.write_time"] {
        let time =
            fit.drive.parameters.iter().find(|parameter| parameter.parameter == name).unwrap();
        assert!(matches!(time.standing, Determination::Open { .. }), "{name}: {time:?}");
        let ratio = number(time.value.as_ref().unwrap()) / number(time.template.as_ref().unwrap());
        assert!((0.8..1.01).contains(&ratio), "{name}: {ratio} of the template's");
        let (low, high) = time.range_80.clone().unwrap();
        let width = number(&high) / number(&low);
        assert!(width > 1.5, "{name}: {low} to {high}");
    }
}
