//! The ranges, sizes and offsets of the tests that result from fio job files, all computed by hand: files as parts of
//! one target, clones with increments, strides, mixes of block sizes, steps and distributions.

use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::{Pattern, Test};

use super::{nearly, read_with};

const MEBI: u64 = 1 << 20;

/// Returns the tests in a file for a target of this size.
fn tests_on(text: &str, target_size: u64) -> Vec<Test> {
    let read = read_with(text, Some(Bytes(target_size)));
    read.unwrap_or_else(|errors| panic!("{text}: {errors}")).workload.tests
}

fn test(options: &str) -> Test {
    super::test(&format!("size=64m\n{options}"))
}

fn first_error(options: &str) -> String {
    super::first_error(&format!("[a]\n{options}\n"))
}

/// Returns offset, span and volume in KiB, and the number of threads.
fn ranges(tests: &[Test]) -> Vec<(u64, u64, u64, u32)> {
    let kibi = |bytes: Bytes| bytes.get() as f64 / 1024.0;
    let range = |test: &Test| {
        let offset = kibi(test.offset);
        let span = kibi(test.span);
        let volume = kibi(test.volume.unwrap_or(Bytes::ZERO));
        assert!([offset, span, volume].iter().all(|size| size.fract() == 0.0), "{test:?}");
        (offset as u64, span as u64, volume as u64, test.threads)
    };
    tests.iter().map(range).collect()
}

/// Converts a range from MiB to KiB: offset, span and volume; the number of threads is unchanged.
fn mebi(offset: u64, span: u64, volume: u64, threads: u32) -> (u64, u64, u64, u32) {
    (offset * 1024, span * 1024, volume * 1024, threads)
}

#[test]
fn a_job_uses_the_part_of_its_file_from_its_offset() {
    for (options, wanted) in [
        ("filename=x\nsize=6m", mebi(0, 6, 6, 1)),
        ("filename=x\nsize=6m\noffset=2m", mebi(2, 6, 6, 1)),
        ("filename=x\nfilesize=8m\noffset=2m", mebi(2, 6, 6, 1)),
        // A size beyond the end of the file is only an amount of data.
        ("filename=x\nfilesize=8m\nsize=6m\noffset=4m", mebi(4, 4, 6, 1)),
        ("filename=x\nfilesize=8m\nsize=50%\noffset=25%", mebi(2, 4, 4, 1)),
        ("filename=x\nfilesize=8m\noffset=8188k", (8188, 4, 4, 1)),
        // Half of 20 KiB is 10 KiB, which contains 8 KiB in whole blocks.
        ("filename=x\nfilesize=20k\noffset=50%", (8, 12, 12, 1)),
        ("filename=x\nfilesize=1m-4m", mebi(0, 4, 4, 1)),
        ("filename=x:y\nfilesize=2m", mebi(0, 4, 4, 1)),
        ("filesize=2m\nnrfiles=3", mebi(0, 6, 6, 1)),
        ("filesize=2m\nnrfiles=0", mebi(0, 2, 2, 1)),
        ("filename=x\noffset=1g", mebi(1024, 63 * 1024, 63 * 1024, 1)),
        ("filename=x\nfilesize=8m\nsize=1m\nfill_device=0", mebi(0, 1, 1, 1)),
        ("filename=x\nfilesize=8m\nsize=1m\nfill_device=1", mebi(0, 8, 8, 1)),
        // Clones share a file that is named; otherwise they have separate files.
        ("size=6m\nnumjobs=3", mebi(0, 18, 18, 3)),
        ("filesize=2m\nnrfiles=3\nnumjobs=2", mebi(0, 12, 12, 2)),
        ("filename=x\nfilesize=8m\nnumjobs=2", mebi(0, 8, 16, 2)),
        ("filename=x\nfilesize=8m\nnumjobs=1\noffset_increment=2m", mebi(0, 8, 8, 1)),
    ] {
        let tests = tests_on(&format!("[a]\n{options}\n"), 64 << 30);
        assert_eq!(ranges(&tests), [wanted], "{options}");
        assert_eq!(tests[0].name, "a", "{options}");
    }
    for (options, message) in [
        (
            "filename=x\nfilesize=8m\noffset=8m",
            "offset=8m: expected an offset inside the file of 8 MiB",
        ),
        (
            "filename=x\nfilesize=8m\noffset=7m\nnumjobs=2\noffset_increment=1m",
            "offset=7m: expected an offset inside the file of 8 MiB",
        ),
        ("filename=x\nsize=0", "size=0: expected a size above 0"),
        ("filename=x\nfilesize=0", "filesize=0: expected a size above 0"),
        ("size=1m\nnumjobs=1025", "numjobs=1025: expected from 1 to 1024"),
    ] {
        let error = first_error(options);
        assert!(error.contains(message), "{options}: {error}");
    }
    assert_eq!(tests_on("[a]\nsize=1m\nnumjobs=1024\n", 64 << 30)[0].threads, 1024);
}

#[test]
fn clones_with_an_increment_begin_that_far_apart() {
    const FILE: &str = "[a]\nfilename=x\nfilesize=8m\n";
    for (options, wanted) in [
        // Adjacent parts become one test.
        (format!("{FILE}numjobs=2\noffset_increment=2m\nsize=2m\n"), vec![mebi(0, 4, 4, 2)]),
        (format!("{FILE}numjobs=4\noffset_increment=25%\nsize=2m\n"), vec![mebi(0, 8, 8, 4)]),
        (
            "[a]\nfilename=x\nnumjobs=3\noffset_increment=2m\nsize=2m\n".to_owned(),
            vec![mebi(0, 6, 6, 3)],
        ),
        // The cases are parts with gaps, overlapping parts, and parts that the end of the file shortens.
        (
            format!("{FILE}numjobs=2\noffset_increment=2m\nsize=1m\n"),
            vec![mebi(0, 1, 1, 1), mebi(2, 1, 1, 1)],
        ),
        (
            format!("{FILE}numjobs=2\noffset_increment=2m\nsize=50%\n"),
            vec![mebi(0, 4, 4, 1), mebi(2, 4, 4, 1)],
        ),
        (
            format!("{FILE}numjobs=3\noffset_increment=2m\nsize=6m\noffset=1m\n"),
            vec![mebi(1, 6, 6, 1), mebi(3, 5, 6, 1), mebi(5, 3, 6, 1)],
        ),
        (
            format!("{FILE}numjobs=2\noffset_increment=3m\noffset=1m\n"),
            vec![mebi(1, 7, 7, 1), mebi(4, 4, 4, 1)],
        ),
        // With separate files, the file of the second clone begins 8 MiB later.
        (
            "[a]\nfilesize=8m\nnumjobs=2\noffset_increment=2m\nsize=1m\noffset=1m\n".to_owned(),
            vec![mebi(1, 1, 1, 1), mebi(11, 1, 1, 1)],
        ),
    ] {
        let tests = tests_on(&options, 64 << 30);
        assert_eq!(ranges(&tests), wanted, "{options}");
        let beside: Vec<bool> = tests.iter().map(|test| test.start.beside).collect();
        let all_but_first: Vec<bool> = (0..tests.len()).map(|at| at > 0).collect();
        assert_eq!(beside, all_but_first, "{options}");
        for (at, test) in tests.iter().enumerate().filter(|_| tests.len() > 1) {
            assert_eq!(test.name, format!("a.{at}"));
        }
    }
}

#[test]
fn files_without_a_size_divide_the_rest_of_the_target() {
    for (text, target, wanted) in [
        // A single file uses the whole target, and several files use whole MiB of it.
        ("[a]\nfilename=x\nbs=512\n", 5 * MEBI + 1024, vec![(0, 5121, 5121, 1)]),
        ("[a]\n[b]\n", 7 * MEBI + 512, vec![mebi(0, 3, 3, 1), mebi(3, 3, 3, 1)]),
        ("[a]\nnumjobs=2\n", 7 * MEBI, vec![mebi(0, 6, 6, 2)]),
        ("[a]\nsize=1536k\n[b]\n", 7 * MEBI, vec![(0, 1536, 1536, 1), mebi(2, 5, 5, 1)]),
        (
            "[a]\nsize=1m\nnumjobs=2\n[b]\n[c]\n",
            9 * MEBI,
            vec![mebi(0, 2, 2, 2), mebi(2, 3, 3, 1), mebi(5, 3, 3, 1)],
        ),
        (
            "[a]\nsize=1m\n[b]\nnumjobs=3\n[c]\n",
            9 * MEBI,
            vec![mebi(0, 1, 1, 1), mebi(1, 6, 6, 3), mebi(7, 2, 2, 1)],
        ),
        // Jobs with the same file share its part, which is as long as any of them needs.
        (
            "[a]\nfilename=x\nsize=2m\n[b]\nfilename=x\nsize=6m\n[c]\nsize=1m\n",
            64 * MEBI,
            vec![mebi(0, 2, 2, 1), mebi(0, 6, 6, 1), mebi(6, 1, 1, 1)],
        ),
        (
            "[a]\ndirectory=p\nfilename=x\nsize=2m\n[b]\ndirectory=q\nfilename=x\nsize=2m\n",
            64 * MEBI,
            vec![mebi(0, 2, 2, 1), mebi(2, 2, 2, 1)],
        ),
    ] {
        assert_eq!(ranges(&tests_on(text, target)), wanted, "{text}");
    }
    let full = read_with("[a]\nsize=8m\n[b]\n", Some(Bytes(8 * MEBI))).unwrap_err();
    assert!(full.to_string().contains("job `b` does not set size"), "{full}");
}

#[test]
fn the_zones_of_a_stride_are_visited_in_order_until_all_data_is_transferred() {
    const STRIDED: &str = "filename=x\nfilesize=8m\nzonemode=strided\nzonesize=1m";
    // Offset, span and volume of each visit, in KiB. fio visits the same zones.
    for (options, wanted) in [
        ("zoneskip=2m\nsize=2m", vec![(0, 1024, 1024), (3072, 1024, 1024)]),
        ("zoneskip=2m\nsize=2052k", vec![(0, 1024, 1024), (3072, 1024, 1024), (6144, 1024, 4)]),
        ("zoneskip=6m\nsize=3m", vec![(0, 1024, 1024), (7168, 1024, 1024), (0, 1024, 1024)]),
        ("zoneskip=6m\nsize=1m\nloops=2", vec![(0, 1024, 1024), (7168, 1024, 1024)]),
        ("zoneskip=6m\nsize=8m\nio_size=2m", vec![(0, 1024, 1024), (7168, 1024, 1024)]),
        ("zoneskip=3m\noffset=1m\nsize=2m", vec![(1024, 1024, 1024), (5120, 1024, 1024)]),
        // There is a further zone if a byte or more is left for it.
        ("zoneskip=6976k\nsize=2m", vec![(0, 1024, 1024), (8000, 192, 192), (0, 1024, 832)]),
        // Random requests use the whole range of a zone, and a zone may be larger than its range.
        ("zonerange=4m\nsize=2m", vec![(0, 4096, 1024), (4096, 4096, 1024)]),
        ("zonerange=512k\nzoneskip=7m\nsize=2m", vec![(0, 512, 1024), (7680, 512, 1024)]),
    ] {
        let tests = tests_on(&format!("[a]\n{STRIDED}\n{options}\n"), 64 << 30);
        let wanted: Vec<_> =
            wanted.into_iter().map(|(at, span, size)| (at, span, size, 1)).collect();
        assert_eq!(ranges(&tests), wanted, "{options}");
        assert!(tests.iter().all(|test| !test.start.beside), "{options}");
    }
    for (options, message) in [
        (format!("{STRIDED}\nio_size=4096m"), "the maximum is 4,095 tests"),
        (format!("{STRIDED}\nruntime=9\ntime_based"), "a single clone, which stops"),
        (
            "size=8m\nnumjobs=2\nzonemode=strided\nzonesize=1m".to_owned(),
            "a single clone, which stops",
        ),
        ("filename=x\nzonemode=zbd".to_owned(), "zoned block devices"),
        (
            "filename=x\nzonemode=strided".to_owned(),
            "does not set zonesize: expected a size above 0",
        ),
        (
            "filename=x\nsize=8m\nzonemode=strided\nzonesize=0".to_owned(),
            "zonesize=0: expected a size above 0",
        ),
    ] {
        let error = first_error(&options);
        assert!(error.contains(message), "{options}: {error}");
    }
}

#[test]
fn requests_have_the_sizes_of_their_kinds_in_proportion() {
    const KIBI: u64 = 1024;
    let quarters = |from: u64| (1..=4).map(|count| (count * from, 0.25)).collect::<Vec<_>>();
    for (options, block, alignment, sizes) in [
        ("rw=randread", 4, 4, vec![]),
        ("rw=randread\nbs=8k", 8, 8, vec![]),
        ("rw=randread\nbs=8k\nba=16k", 8, 16, vec![]),
        ("rw=randread\nbsrange=4k-16k", 16, 4, quarters(4)),
        ("rw=randread\nbsrange=4k-19k", 16, 4, quarters(4)),
        ("rw=randread\nbsrange=16k-16k", 16, 16, vec![]),
        // Sequential requests are adjacent at multiples of the common divisor.
        ("rw=read\nbssplit=8k/50:12k/50", 12, 4, vec![(8, 0.5), (12, 0.5)]),
        ("rw=randread\nbssplit=8k/50:12k/50", 12, 8, vec![(8, 0.5), (12, 0.5)]),
        ("rw=randread\nbssplit=12k/75:8k/25", 12, 8, vec![(12, 0.75), (8, 0.25)]),
        ("rw=randread\nbssplit=4k/0:8k/100", 8, 8, vec![]),
        ("rw=randread\nbssplit=4k/:8k/:16k/50", 16, 4, vec![(4, 0.25), (8, 0.25), (16, 0.5)]),
        // If the shares sum to less than 100, they count in proportion.
        ("rw=randread\nbssplit=4k/20:8k/60", 8, 4, vec![(4, 0.25), (8, 0.75)]),
        ("rw=randrw\nrwmixread=75\nbs=4k,8k", 8, 4, vec![(4, 0.75), (8, 0.25)]),
        ("rw=randrw\nrwmixread=75\nbs=,8k", 8, 4, vec![(4, 0.75), (8, 0.25)]),
        ("rw=randrw\nrwmixread=75\nbs=8k", 8, 8, vec![]),
        ("rw=randrw\nrwmixread=100\nbs=4k,8k", 4, 4, vec![]),
        ("rw=randrw\nrwmixread=0\nbs=4k,8k", 8, 8, vec![]),
        ("rw=randwrite\nbs=4k,8k", 8, 8, vec![]),
        ("rw=randread\nbs=4k,8k", 4, 4, vec![]),
        ("rw=randtrim\nbs=4k,8k,16k", 16, 16, vec![]),
        ("rw=randtrim\nbs=4k,8k", 8, 8, vec![]),
        ("rw=trimwrite\nbs=,8k,16k", 16, 8, vec![(8, 0.5), (16, 0.5)]),
        ("rw=randrw\nbssplit=4k/25:8k/75,8k/100", 8, 4, vec![(4, 0.125), (8, 0.875)]),
    ] {
        let test = test(options);
        assert_eq!(test.block, Bytes(block * KIBI), "{options}");
        assert_eq!(test.alignment(), Bytes(alignment * KIBI), "{options}");
        let found: Vec<(u64, f64)> = test
            .mix()
            .sizes
            .iter()
            .map(|size| (size.block.get() / KIBI, (size.share * 1e9).round() / 1e9))
            .collect();
        assert_eq!(found, sizes, "{options}");
    }
    for (options, noted) in [
        ("size=8m\nrw=randrw\nbs=4k,8k", &["bs"][..]),
        ("size=8m\nrw=randrw\nbs=4k,4k", &[]),
        ("size=8m\nrw=randrw\nbs=4k\nba=4k,8k", &["ba"]),
        ("size=8m\nrw=randrw\nbs=4k\nba=8k,8k", &[]),
        ("size=8m\nrw=randread\nbsrange=4k-256k", &[]),
        ("size=8m\nrw=randread\nbsrange=4k-260k", &["bsrange"]),
    ] {
        assert_eq!(nearly(options), noted, "{options}");
    }
    // 65 sizes are reduced to 64, which include the smallest and the largest.
    let sizes = |options: &str| -> Vec<u64> {
        test(options).mix().sizes.iter().map(|size| size.block.get() / (4 * KIBI)).collect()
    };
    assert_eq!(sizes("rw=randread\nbsrange=4k-256k"), (1..=64).collect::<Vec<_>>());
    assert_eq!(sizes("rw=randread\nbsrange=4k-260k"), (1..=63).chain([65]).collect::<Vec<_>>());
}

#[test]
fn offsets_follow_the_step_the_map_and_the_share_of_random_requests() {
    for (options, pattern, alignment) in [
        ("rw=read", Pattern::Sequential, 4),
        ("rw=write:12k", Pattern::Sequential, 16),
        ("rw=write:12k\nbs=8k", Pattern::Sequential, 20),
        ("rw=read:-8k", Pattern::Backward, 4),
        ("rw=read:-12k", Pattern::Backward, 8),
        ("rw=randread", Pattern::Shuffled, 4),
        ("rw=randread:1", Pattern::Shuffled, 4),
        ("rw=randread\nnorandommap=0", Pattern::Shuffled, 4),
        ("rw=randread\nnorandommap=1", Pattern::Uniform, 4),
        ("rw=randread\nbssplit=4k/50:8k/50", Pattern::Uniform, 4),
        ("rw=randread\npercentage_random=0", Pattern::Sequential, 4),
        ("rw=randread\npercentage_random=100", Pattern::Shuffled, 4),
        ("rw=read\npercentage_random=100", Pattern::Sequential, 4),
        ("rw=read\npercentage_random=40", Pattern::Sequential, 4),
        (
            "rw=randread\npercentage_random=50",
            Pattern::PartlyRandom { random_share: Ratio::HALF },
            4,
        ),
        ("rw=randread\nrandom_distribution=random", Pattern::Shuffled, 4),
        ("rw=randread\nrandom_distribution=random\nnorandommap", Pattern::Uniform, 4),
    ] {
        let test = test(options);
        assert_eq!(test.pattern(), Some(&pattern), "{options}");
        assert_eq!(test.alignment(), Bytes::kibi(alignment), "{options}");
    }
    for (options, message) in [
        ("rw=read:-7k", "a step back of at least two blocks"),
        ("rw=read:4k\nbssplit=4k/50:8k/50", "no step if requests have several sizes"),
        ("rw=randread\npercentage_random=101", "0 to 100"),
        (
            "rw=randread\npercentage_random=9\nrandom_distribution=zipf",
            "one of random_distribution",
        ),
        ("rw=randread:2", "a new offset for each random request"),
        ("rw=randread\nbssplit=4k/0", "one size or more with a share above zero"),
        ("rw=randread\nbs=4k,4k,4k,4k", "up to three values"),
    ] {
        let error = first_error(&format!("size=64m\n{options}"));
        assert!(error.contains(message), "{options}: {error}");
    }
}

#[test]
fn distributions_have_their_bounds_and_their_parts() {
    let read = |text: &str| format!("rw=randread\nrandom_distribution={text}");
    let pattern = |text: &str| test(&read(text)).pattern().cloned();
    for (text, wanted) in [
        ("zipf", Pattern::Zipf { theta: 1.1 }),
        ("zipf:", Pattern::Zipf { theta: 1.1 }),
        ("zipf:0.5", Pattern::Zipf { theta: 0.5 }),
        ("zipf:10", Pattern::Zipf { theta: 10.0 }),
        ("zipf:1.5:0.5", Pattern::Zipf { theta: 1.5 }),
        ("pareto", Pattern::Pareto { h: 0.2 }),
        ("pareto:0.5", Pattern::Pareto { h: 0.5 }),
    ] {
        assert_eq!(pattern(text), Some(wanted), "{text}");
    }
    // The mean of twelve uniform draws has the variance 1/144, and a draw with the width w has the variance w²/12;
    // fio's width is up to one half.
    for (text, wanted) in [
        ("normal:100", 1.0 / 6.0),
        ("normal:50", 1.0 / 6.0),
        ("gauss:50", 1.0 / 6.0),
        ("normal:25", 7.0_f64.sqrt() / 24.0),
        ("normal:5", (1.0 / 144.0 + 1.0 / 4800.0_f64).sqrt()),
    ] {
        let Some(Pattern::Normal { deviation }) = pattern(text) else { panic!("{text}") };
        assert!((deviation.get() - wanted).abs() < 1e-9, "{text}: {deviation:?}");
    }
    for (text, wanted) in [
        ("zoned:60/10:30/20:10/70", vec![(0.6, 0.1), (0.3, 0.2), (0.1, 0.7)]),
        ("zoned:50/25:/25:/", vec![(0.5, 0.25), (0.25, 0.25), (0.25, 0.5)]),
        ("zoned:100/100:0/0:/", vec![(1.0, 1.0), (0.0, 0.0), (0.0, 0.0)]),
        ("zoned_abs:50/16m:50/48m", vec![(0.5, 0.25), (0.5, 0.75)]),
        ("zoned_abs:50/8m:/8m:/16m", vec![(0.5, 0.25), (0.25, 0.25), (0.25, 0.5)]),
    ] {
        let Some(Pattern::Zones { zones }) = pattern(text) else { panic!("{text}") };
        let found: Vec<(f64, f64)> = zones
            .iter()
            .map(|zone| (zone.share.get(), zone.span.get()))
            .map(|(share, span)| ((share * 1e9).round() / 1e9, (span * 1e9).round() / 1e9))
            .collect();
        assert_eq!(found, wanted, "{text}");
    }
    let count = |count: usize| format!("zoned:{}", vec!["1/1"; count].join(":"));
    assert!(matches!(pattern(&count(64)), Some(Pattern::Zones { zones }) if zones.len() == 64));
    for (text, message) in [
        (count(65), "from 1 to 64 zones"),
        ("zoned:101/5".to_owned(), "percentages from 0 to 100"),
        ("zoned:5/101".to_owned(), "percentages from 0 to 100"),
        ("zoned:-1/5".to_owned(), "percentages from 0 to 100"),
        ("zipf:0".to_owned(), "an exponent above 0 and at most 10"),
        ("zipf:10.5".to_owned(), "an exponent above 0 and at most 10"),
        ("pareto:0".to_owned(), "an h above 0 and below 1"),
        ("pareto:1".to_owned(), "an h above 0 and below 1"),
        ("normal:0".to_owned(), "a deviation above 0 and at most 100"),
        ("normal:100.5".to_owned(), "a deviation above 0 and at most 100"),
    ] {
        let error = first_error(&format!("size=64m\n{}", read(text.as_str())));
        assert!(error.contains(message), "{text}: {error}");
    }
    let mixed = "size=64m\nrw=randrw\nrandom_distribution=zoned:50/5:50/95";
    assert!(first_error(&format!("{mixed},50/10:50/90")).contains("the same zones"));
    assert_eq!(nearly(&format!("{mixed},50/5:50/95")), [""; 0]);
    assert_eq!(nearly(&format!("size=64m\n{}", read("zipf:1.5:0.5"))), ["random_distribution"]);
    assert_eq!(nearly(&format!("size=64m\n{}", read("zipf:1.5"))), [""; 0]);
    assert_eq!(nearly(&format!("size=64m\n{}", read("normal:5"))), ["random_distribution"]);
    assert_eq!(test("rw=randrw\nrwmixread=100").read_share().unwrap(), Ratio::ONE);
}
