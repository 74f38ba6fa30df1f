//! The temperature of a drive during a sample.
//!
//! The kernel's own sensors report it without root: `nvme` for NVMe drives and `drivetemp` for SATA drives (kernel
//! documentation, `hwmon/sysfs-interface.rst`). `temp1_max` is the drive's warning temperature.

use std::fs;
use std::path::{Path, PathBuf};

use lanemark_schema::result::{TemperatureReading, Temperatures};
use lanemark_schema::units::Duration;

/// Minimum time between two readings. A reading of an NVMe sensor is a command to the drive.
const EVERY: Duration = Duration::from_seconds(1);
/// Maximum number of readings. If one more reading would exceed it, every second reading is removed and the time
/// between readings doubles.
const READINGS_MAX: usize = 1000;

/// The readings of a sensor while a sample runs.
pub(crate) struct TemperatureRecorder {
    sensor: Option<PathBuf>,
    every: Duration,
    temperatures: Temperatures,
}

impl TemperatureRecorder {
    /// Creates a recorder for the sensor of a block device, if the device is known.
    pub(crate) fn new(device: Option<&str>) -> Self {
        Self::for_sensor(device.and_then(|device| sensor(&block(device))))
    }

    fn for_sensor(sensor: Option<PathBuf>) -> Self {
        let limit = sensor.as_deref().and_then(|sensor| celsius(sensor, "temp1_max"));
        // Sensors report the largest number if the drive states no limit.
        let limit_celsius = limit.filter(|limit| (1.0..200.0).contains(limit));
        let temperatures = Temperatures { limit_celsius, readings: Vec::new() };
        Self { sensor, every: EVERY, temperatures }
    }

    /// Takes a reading at the time `at` of the sample, unless the last reading is recent.
    pub(crate) fn take(&mut self, at: Duration) {
        let readings = &mut self.temperatures.readings;
        if readings.last().is_some_and(|last| at < last.at + self.every) {
            return;
        }
        let Some(celsius) =
            self.sensor.as_deref().and_then(|sensor| celsius(sensor, "temp1_input"))
        else {
            return;
        };
        if readings.len() == READINGS_MAX {
            let mut index = 0;
            readings.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every = self.every * 2;
        }
        readings.push(TemperatureReading { at, celsius });
    }

    /// Returns the readings, if there are any.
    pub(crate) fn finish(self) -> Option<Temperatures> {
        (!self.temperatures.readings.is_empty()).then_some(self.temperatures)
    }
}

/// Reads the sensor of a block device, in °C.
pub(crate) fn read(device: &str) -> Option<f64> {
    celsius(&sensor(&block(device))?, "temp1_input")
}

fn block(device: &str) -> PathBuf {
    Path::new("/sys/class/block").join(device)
}

/// Returns the folder of the sensor of the device whose folder in sysfs is `block`. A partition has the sensor of its
/// disk.
fn sensor(block: &Path) -> Option<PathBuf> {
    let folders = [
        "device",
        "device/hwmon",
        "device/device",
        "../device",
        "../device/hwmon",
        "../device/device",
    ];
    // The folder of a class is a link, so the parent of a partition is found only by its real path.
    let block = block.canonicalize().ok()?;
    folders.iter().find_map(|folder| {
        let entries = fs::read_dir(block.join(folder)).ok()?;
        let mut sensors = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("hwmon"))
            .map(|entry| entry.path());
        sensors.find(|sensor| celsius(sensor, "temp1_input").is_some())
    })
}

/// Reads an attribute of a sensor, in °C.
fn celsius(sensor: &Path, attribute: &str) -> Option<f64> {
    let text = fs::read_to_string(sensor.join(attribute)).ok()?;
    Some(text.trim().parse::<f64>().ok()? / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temperature_is_read_from_the_sensor_of_each_kind_of_drive() {
        // The sensors of NVMe, of SCSI with `drivetemp`, of an NVMe controller above a namespace, and of a partition.
        for place in
            ["device/hwmon3", "device/hwmon/hwmon0", "device/device/hwmon12", "../device/hwmon1"]
        {
            let folder = tempfile::tempdir().unwrap();
            let block = folder.path().join("nvme0n1");
            fs::create_dir(&block).unwrap();
            let read = || celsius(&sensor(&block)?, "temp1_input");
            assert_eq!(read(), None, "there is no device");
            let folder = block.join(place);
            fs::create_dir_all(&folder).unwrap();
            assert_eq!(read(), None, "{place} without a value");
            let other = folder.with_file_name("power");
            fs::create_dir_all(&other).unwrap();
            fs::write(other.join("temp1_input"), "99000\n").unwrap();
            assert_eq!(read(), None, "{place}: another attribute");
            for (text, wanted) in [("38850\n", Some(38.85)), ("-5000", Some(-5.0)), ("hot", None)] {
                fs::write(folder.join("temp1_input"), text).unwrap();
                assert_eq!(read(), wanted, "{place}: {text}");
            }
        }
    }

    #[test]
    fn readings_are_a_second_apart_and_at_most_a_thousand() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("temp1_input"), "40000\n").unwrap();
        fs::write(folder.path().join("temp1_max"), "81850\n").unwrap();
        let mut recorder = TemperatureRecorder::for_sensor(Some(folder.path().to_owned()));
        (0..10_000_u64)
            .for_each(|fifth| recorder.take(Duration::from_microseconds(fifth * 200_000)));
        let temperatures = recorder.finish().unwrap();
        assert_eq!(temperatures.limit_celsius, Some(81.85));
        let times: Vec<f64> =
            temperatures.readings.iter().map(|reading| reading.at.as_seconds()).collect();
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 2.0), "{times:?}");
        assert_eq!((times.len(), times[0], times.last().copied()), (1000, 0.0, Some(1998.0)));
        assert_eq!(TemperatureRecorder::for_sensor(None).finish(), None);
    }
}
