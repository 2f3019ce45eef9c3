//! The loop under one clock, with guests that are no kernels. This program is its own guest: it is one where the
//! simulation started it, and runs the tests otherwise.
#![allow(clippy::print_stdout, reason = "a guest reports on it, and so do tests without the usual harness")]

mod guest;
#[path = "../common/mod.rs"]
mod kernel_link;

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use hopyard_engine::{Span, Time};
use hopyard_kernels::agent::Report;
use hopyard_kernels::{Completion, Error, Guest, Kernels, Settings};
use kernel_link::{Link, mac, run, skipped};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn spec(number: u8, role: &str) -> Guest {
    Guest {
        name: format!("host {number}"),
        program: env::current_exe().expect("this program"),
        initrd: Vec::new(),
        parameters: vec![format!("role={role}")],
        memory: 1,
        devices: vec![mac(number).into()],
        seed: 1,
    }
}

fn hasty() -> Settings {
    Settings { patience: Duration::from_millis(500), ..Settings::default() }
}

fn seconds(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

/// The error that ends a run of 10 s.
fn error(role: &str) -> Error {
    let started = Kernels::start(&[spec(0, role)], hasty());
    let run = started.and_then(|mut it| it.advance(seconds(10), &mut Link::default(), || false));
    run.expect_err("it ends early")
}

fn kernels_run_at_their_wishes_up_to_and_including_the_end() {
    let mut kernels = Kernels::start(&[spec(0, "ticks"), spec(1, "ticks")], hasty()).expect("started");
    let ticks =
        |kernels: &mut Kernels| kernels.reports(1).expect("reports").into_iter().map(|(at, _)| at).collect::<Vec<_>>();
    let mut link = Link::default();
    kernels.advance(seconds(2), &mut link, || false).expect("on");
    assert_eq!(ticks(&mut kernels), [seconds(1), seconds(2)]);
    kernels.advance(Time::from_nanos(2_999_999_999), &mut link, || false).expect("on");
    assert!(ticks(&mut kernels).is_empty());
    kernels.advance(seconds(3), &mut link, || false).expect("on");
    assert_eq!((ticks(&mut kernels), kernels.now()), (vec![seconds(3)], seconds(3)));
}

fn a_run_is_stopped_between_two_events_and_goes_on() {
    let mut kernels = Kernels::start(&[spec(0, "ticks")], hasty()).expect("started");
    let mut asked = 0;
    let stop = || {
        asked += 1;
        asked > 3
    };
    let stopped = kernels.advance(seconds(9), &mut Link::default(), stop);
    assert!(matches!(stopped, Err(Error::Stopped(at)) if at == seconds(3)), "{stopped:?}");
    kernels.advance(seconds(4), &mut Link::default(), || false).expect("on");
    assert_eq!(kernels.reports(0).expect("reports").len(), 4);
}

fn frames_cross_the_link_at_their_times() {
    let guests = [spec(0, "send"), spec(1, "answer")];
    // 60 bytes take 480 microseconds, and 10 ms of delay.
    let link = Link::new(1_000_000, Span::from_millis(10));
    let (reports, link) = run(&guests, hasty(), link, seconds(3));
    // The answering guest also tells of each frame that it sends.
    let frames: Vec<_> = reports[1].iter().filter(|it| matches!(it.1, Report::Counters { .. })).collect();
    assert_eq!(frames.len(), 10, "{reports:#?}");
    for (number, frame) in (0..).zip(frames) {
        let at = Time::from_nanos(1_010_480_000 + 1_000_000 * number);
        assert_eq!(*frame, (at, Report::Counters { timeouts: 60, fast: number }));
    }
    let back: Vec<_> = link.times.iter().filter(|it| it.1 == "received" && it.2 == 0).map(|it| it.0).collect();
    assert_eq!(back.len(), 10);
    assert_eq!(back[0], 1_010_480_000 + 10_480_000);
    let again = run(&guests, hasty(), Link::new(1_000_000, Span::from_millis(10)), seconds(3)).1;
    assert_eq!(link.digest(), again.digest());
    // The grant decides nothing.
    let short = Settings { grant: Span::from_micros(300), ..hasty() };
    let again = run(&guests, short, Link::new(1_000_000, Span::from_millis(10)), seconds(3)).1;
    assert_eq!(link.digest(), again.digest());
}

fn completion_says_when_a_buffer_comes_back() {
    let given = |completion| {
        let settings = Settings { completion, ..hasty() };
        let guests = [spec(0, "send"), spec(1, "answer")];
        // 60 bytes take 4.8 ms: frames wait for each other.
        let (reports, _) = run(&guests, settings, Link::new(100_000, Span::ZERO), seconds(3));
        let count = |(_, it): &(Time, Report)| match it {
            Report::Answer { number, .. } => Some(*number),
            _ => None,
        };
        reports[0].iter().filter_map(count).collect::<Vec<u32>>()
    };
    assert_eq!(given(Completion::Immediate), (1..=10).collect::<Vec<_>>());
    assert_eq!(given(Completion::Sent), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
}

fn a_frame_without_a_buffer_is_counted() {
    let mut kernels = Kernels::start(&[spec(0, "send"), spec(1, "deaf")], hasty()).expect("started");
    kernels.advance(seconds(3), &mut Link::default(), || false).expect("on");
    let (sender, receiver) = (kernels.counters(0), kernels.counters(1));
    assert_eq!((sender.sent, receiver.received, receiver.no_buffer, receiver.down), (10, 0, 10, 0));
    let mut kernels = Kernels::start(&[spec(0, "send"), spec(1, "ticks")], hasty()).expect("started");
    kernels.advance(seconds(3), &mut Link::default(), || false).expect("on");
    assert_eq!(kernels.counters(1).down, 10);
}

fn a_guest_that_ends_is_an_error_with_its_log() {
    let text = error("panic").to_string();
    assert!(
        text.starts_with("the kernel of host 0 ended at 2.000000000 s: exit status: 1; the end of its log:\n"),
        "{text}"
    );
    assert!(text.ends_with("Kernel panic - not syncing: a test"), "{text}");
    assert!(matches!(error("absent"), Error::Ended { how, .. } if how == "exit status: 7"));
}

/// Files that came with a message are cut off where this process can have no more descriptors: that is no fault of the
/// kernel.
fn a_process_without_descriptors_says_so() {
    let usual = getrlimit(Resource::Nofile);
    // The guest needs fewer than this process has.
    let _more: Vec<File> = (0..40).map(|_| File::open("/dev/null").expect("a file")).collect();
    let mut texts = Vec::new();
    for spare in 0..10 {
        // A process takes more for a moment while it is started than when it runs.
        for early in [true, false] {
            let limit = open_files() + spare;
            let set = |current| setrlimit(Resource::Nofile, Rlimit { current, ..usual }).expect("another limit");
            if early {
                set(Some(limit));
            }
            let started = Kernels::start(&[spec(0, "answer")], hasty());
            let limit = if early { limit } else { open_files() + spare - 2 };
            set(Some(limit));
            let run = started.and_then(|mut it| it.advance(seconds(1), &mut Link::default(), || false));
            set(usual.current);
            let Err(error) = run else { continue };
            let text = error.to_string();
            let why = format!("this process has all the file descriptors that it may have ({limit}): raise that limit");
            assert!(text.contains(&why), "{limit}: {text}");
            texts.push(text);
        }
    }
    let of_sockets = texts.iter().filter(|it| it.starts_with("a socket of the kernel of host 0: ")).count();
    // The device's own socket, the memory of the guest, and the socket for the device's messages.
    assert!(texts.len() > of_sockets && of_sockets >= 3, "{texts:#?}");
    // One that is measured, because others compute from it how many they need.
    // On a busy machine, one of the runs before was open for a moment longer.
    let readings = (0..50).map(|_| {
        thread::sleep(Duration::from_millis(2));
        open_files()
    });
    let before = readings.min().expect("some");
    let mut kernels = Kernels::start(&[spec(0, "send"), spec(1, "answer")], hasty()).expect("started");
    kernels.advance(seconds(2), &mut Link::default(), || false).expect("on");
    let taken = open_files() - before;
    // `DESCRIPTORS` in `check.py`: for each kernel 2 and for each device 3, for a run 2.
    assert!((11..=12).contains(&taken), "{taken}");
}

fn open_files() -> u64 {
    fs::read_dir("/proc/self/fd").expect("the descriptors").count() as u64
}

fn reports_are_read_once_and_take_no_room() {
    let folder = env::temp_dir().join(format!("hopyard-log-{}", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    let settings = Settings { folder: Some(folder.clone()), ..hasty() };
    let mut kernels = Kernels::start(&[spec(0, "talk")], settings).expect("started");
    let of_run = fs::read_dir(&folder).expect("a folder").flatten().next().expect("that of the run").path();
    let mut read = 0;
    for second in 1..=3 {
        kernels.advance(seconds(second), &mut Link::default(), || false).expect("on");
        while let reports = kernels.reports(0).expect("reports")
            && !reports.is_empty()
        {
            read += reports.len();
        }
    }
    assert_eq!(read, 2999);
    let state = fs::metadata(of_run.join("k0.agent/reports")).expect("the reports");
    assert!(state.len() > 500_000, "{} bytes", state.len());
    if can_punch(&folder) {
        assert!(512 * state.blocks() < 100_000, "{} blocks", state.blocks());
    } else {
        skipped(format_args!("the file system of {} gives no room back", folder.display()));
    }
    let text = kernels.advance(seconds(9), &mut Link::default(), || false).expect_err("it ends").to_string();
    assert!(
        text.ends_with("exit status: 1; the end of its log:\nbooted\nKernel panic - not syncing: a test"),
        "{text}"
    );
    drop(kernels);
    fs::remove_dir(&folder).expect("removed");
}

/// An agent whose report cannot be written ends.
fn a_full_folder_for_reports_is_named() {
    let folder = env::temp_dir().join(format!("hopyard-full-{}", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4M", "none"]).arg(&folder).output();
    if mount.is_ok_and(|it| it.status.success()) {
        let settings = Settings { folder: Some(folder.clone()), ..hasty() };
        let mut kernels = Kernels::start(&[spec(0, "talk")], settings).expect("started");
        kernels.advance(seconds(1), &mut Link::default(), || false).expect("on");
        assert!(fs::write(folder.join("others"), vec![1; 8 << 20]).is_err(), "the folder is full");
        let text = kernels.advance(seconds(2), &mut Link::default(), || false).expect_err("it is full").to_string();
        let why = format!("; the folder for the reports of kernels, {}/", folder.display());
        assert!(text.contains(&why) && text.contains(", is full: 0 kB are free"), "{text}");
        drop(kernels);
        assert!(Command::new("umount").arg(&folder).status().expect("it was mounted").success());
    } else {
        skipped("no file system can be mounted, which reports would fill");
    }
    fs::remove_dir(&folder).expect("removed");
}

fn can_punch(folder: &Path) -> bool {
    let path = folder.join("punch");
    fs::write(&path, [1; 8192]).expect("written");
    let file = File::options().write(true).open(&path).expect("opened");
    let punched = fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, 8192).is_ok();
    fs::remove_file(path).expect("removed");
    punched
}

fn the_processor_time_of_guests_and_their_children_is_known() {
    let mut kernels = Kernels::start(&[spec(0, "busy")], Settings::default()).expect("started");
    kernels.advance(seconds(1), &mut Link::default(), || false).expect("on");
    let taken = kernels.processor_time();
    // The guest, its child that lives, and one that has ended, have computed for 0.1 s each.
    assert!((0.29..1.0).contains(&taken.as_secs_f64()), "{taken:?}");
}

/// What a guest sees of a full folder is a signal. `/proc` has no room for anybody.
fn a_full_folder_for_memory_is_named() {
    let settings = Settings { memory_folder: Some("/proc".into()), ..hasty() };
    let mut kernels = Kernels::start(&[spec(0, "panic")], settings).expect("started");
    let text = kernels.advance(seconds(9), &mut Link::default(), || false).expect_err("it ends").to_string();
    let why =
        "exit status: 1; the folder for the memory of kernels, /proc, is full: 0 kB are free; the end of its log:";
    assert!(text.contains(why), "{text}");
}

fn a_guest_that_computes_without_end_is_named() {
    let text = error("spin").to_string();
    assert!(
        text.contains("host 0 runs since the simulated time 3.000000000 s and has not answered for 0.5 s"),
        "{text}"
    );
    assert!(text.ends_with("computing"), "{text}");
    assert!(matches!(error("late"), Error::Silent { at: Time::ZERO, .. }));
}

/// What it computes is not lost: the run can go on.
fn a_run_stops_while_a_guest_computes() {
    let mut kernels = Kernels::start(&[spec(0, "slow")], Settings::default()).expect("started");
    // The first time before the guest computes, the second time meanwhile.
    let mut asked = 0;
    let stop = || {
        asked += 1;
        asked == 2
    };
    let stopped = kernels.advance(seconds(9), &mut Link::default(), stop);
    assert!(matches!(stopped, Err(Error::Stopped(at)) if at == seconds(3)), "{stopped:?}");
    kernels.advance(seconds(9), &mut Link::default(), || false).expect("on");
    assert_eq!(kernels.next_wish(), None);
}

fn a_guest_that_breaks_the_protocol_is_named() {
    let text = error("babble").to_string();
    assert_eq!(text, "the kernel of host 0 broke the protocol at 0.000000000 s: an unknown time message 42");
    let text = error("beyond").to_string();
    assert!(
        text.ends_with("expected a time from 1.000000000 s to before 2.000000000 s, found 2.000000000 s"),
        "{text}"
    );
}

fn a_program_that_is_not_there_is_an_error() {
    let mut guest = spec(0, "ticks");
    guest.program = "/nowhere/linux".into();
    let text = Kernels::start(&[guest], hasty()).expect_err("no program").to_string();
    assert!(text.starts_with("the kernel of host 0: the program /nowhere/linux: "), "{text}");
    let settings = Settings { folder: Some("/nowhere".into()), ..hasty() };
    let text = Kernels::start(&[spec(0, "ticks")], settings).expect_err("no folder").to_string();
    assert!(text.starts_with("the folder /nowhere/hopyard-kernels-"), "{text}");
}

fn no_process_and_no_folder_is_left_behind() {
    let folder = env::temp_dir().join(format!("hopyard-fake-{}", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    let settings = Settings { folder: Some(folder.clone()), ..hasty() };
    let mut kernels = Kernels::start(&[spec(0, "parent")], settings).expect("started");
    kernels.advance(seconds(1), &mut Link::default(), || false).expect("on");
    let reports = kernels.reports(0).expect("reports");
    let [(_, Report::Began { program })] = &*reports else { panic!("{reports:?}") };
    let child = program.to_string();
    assert!(lives(&child));
    drop(kernels);
    assert!(gone(&child), "the guest's child was killed with it");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
    fs::remove_dir(&folder).expect("removed");
}

fn guests_end_when_their_owner_is_killed() {
    let program = env::current_exe().expect("this program");
    let mut owner = Command::new(program).arg("own").stdout(Stdio::piped()).spawn().expect("an owner");
    let mut line = String::new();
    let output = owner.stdout.take().expect("its output");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a line");
    let guests: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    assert_eq!(guests.len(), 2, "{line}");
    assert!(guests.iter().all(|it| lives(it)));
    // SIGKILL: the owner can do nothing about it.
    owner.kill().expect("killed");
    owner.wait().expect("ended");
    assert!(guests.iter().all(|it| gone(it)));
}

/// Owns two guests, says their numbers, and waits for ever.
fn own() {
    let _kernels = Kernels::start(&[spec(0, "ticks"), spec(1, "ticks")], hasty()).expect("started");
    let own = std::process::id().to_string();
    let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).expect("the children");
    println!("{children}");
    thread::sleep(Duration::from_secs(100));
}

/// Whether there is such a process that is no zombie.
fn lives(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|it| !it.trim().is_empty() && !it.trim_start().starts_with(['Z', 'X']))
}

fn gone(process: &str) -> bool {
    (0..200).any(|_| {
        thread::sleep(Duration::from_millis(10));
        !lives(process)
    })
}

macro_rules! tests {
    ($($name:ident),+ $(,)?) => { [$((stringify!($name), $name as fn())),+] };
}

#[expect(clippy::disallowed_methods, reason = "the time that tests take is no part of a model")]
fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|it| it.starts_with("time-travel=")) {
        return guest::main();
    }
    if arguments == ["own"] {
        return own();
    }
    if arguments.first().is_some_and(|it| it == "compute") {
        guest::compute();
        if arguments.len() > 1 {
            thread::sleep(Duration::from_secs(100));
        }
        return;
    }
    let tests = tests![
        kernels_run_at_their_wishes_up_to_and_including_the_end,
        a_run_is_stopped_between_two_events_and_goes_on,
        frames_cross_the_link_at_their_times,
        completion_says_when_a_buffer_comes_back,
        a_frame_without_a_buffer_is_counted,
        a_guest_that_ends_is_an_error_with_its_log,
        a_process_without_descriptors_says_so,
        reports_are_read_once_and_take_no_room,
        a_full_folder_for_memory_is_named,
        a_full_folder_for_reports_is_named,
        the_processor_time_of_guests_and_their_children_is_known,
        a_guest_that_computes_without_end_is_named,
        a_run_stops_while_a_guest_computes,
        a_guest_that_breaks_the_protocol_is_named,
        a_program_that_is_not_there_is_an_error,
        no_process_and_no_folder_is_left_behind,
        guests_end_when_their_owner_is_killed,
    ];
    let filters: Vec<_> = arguments.iter().filter(|it| !it.starts_with('-')).collect();
    for (name, test) in tests {
        if filters.is_empty() || filters.iter().any(|it| name.contains(it.as_str())) {
            let began = Instant::now();
            // A panic ends the program, with its message and a code.
            test();
            println!("test {name} ... ok ({:.2} s)", began.elapsed().as_secs_f64());
        }
    }
}
