//! Messages between user-mode Linux and its calendar, as pure functions of bytes.
//!
//! The kernel defines them in `include/uapi/linux/um_timetravel.h`.

/// Length of a message.
pub const LENGTH: usize = 16;
/// Time that means never; the guest then waits for an external event.
pub const NEVER: u64 = i64::MAX as u64;

/// A message from the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestMessage {
    /// Acknowledges a message from the calendar.
    Taken,
    /// The connection begins.
    Start,
    /// The guest requests to run at this time, in ns; only the last request counts.
    Request(u64),
    /// The guest waits for the time that it requested.
    Wait,
    /// The guest requests the time.
    Get,
    /// The guest's time has advanced to this time.
    Update(u64),
    /// The guest requests the time of day.
    Day,
}

/// A message from the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalendarMessage {
    /// Acknowledges a message from the guest, with the time if the guest requested it.
    Taken(u64),
    /// The guest runs, and its time is now this time.
    Run(u64),
    /// The guest need not send a request before this time.
    FreeUntil(u64),
}

/// A message that breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("calendar: message {operation} with time {time} is not known")]
pub struct CalendarError {
    /// Number of the message.
    pub operation: u32,
    /// Time of the event in ns.
    pub time: u64,
}

/// Reads a message from the guest, and its sequence number.
///
/// # Errors
/// Returns an error if the message is not known or its time exceeds the maximum.
pub fn read(bytes: [u8; LENGTH]) -> Result<(GuestMessage, u32), CalendarError> {
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
    let (operation, order) = (word(0), word(4));
    let time = u64::from(word(8)) | u64::from(word(12)) << 32;
    let message = match operation {
        0 => GuestMessage::Taken,
        1 => GuestMessage::Start,
        2 if time <= NEVER => GuestMessage::Request(time),
        3 => GuestMessage::Wait,
        4 => GuestMessage::Get,
        5 if time < NEVER => GuestMessage::Update(time),
        8 => GuestMessage::Day,
        _ => return Err(CalendarError { operation, time }),
    };
    Ok((message, order))
}

/// Returns the bytes of a calendar message. `order` is its own sequence number, or the sequence number of the message
/// that it answers.
pub fn write(message: CalendarMessage, order: u32) -> [u8; LENGTH] {
    let (operation, time): (u32, u64) = match message {
        CalendarMessage::Taken(time) => (0, time),
        CalendarMessage::Run(time) => (6, time),
        CalendarMessage::FreeUntil(time) => (7, time),
    };
    let mut bytes = [0; LENGTH];
    bytes[..4].copy_from_slice(&operation.to_le_bytes());
    bytes[4..8].copy_from_slice(&order.to_le_bytes());
    bytes[8..].copy_from_slice(&time.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(operation: u32, time: u64) -> [u8; LENGTH] {
        let mut bytes = write(CalendarMessage::Taken(time), 9);
        bytes[..4].copy_from_slice(&operation.to_le_bytes());
        bytes
    }

    #[test]
    fn messages_of_the_guest_are_read_with_their_time_and_order() {
        for (operation, wanted) in [
            (0, GuestMessage::Taken),
            (1, GuestMessage::Start),
            (2, GuestMessage::Request(440_000)),
            (3, GuestMessage::Wait),
            (4, GuestMessage::Get),
            (5, GuestMessage::Update(440_000)),
            (8, GuestMessage::Day),
        ] {
            assert_eq!(read(bytes(operation, 440_000)), Ok((wanted, 9)));
        }
    }

    #[test]
    fn messages_of_the_calendar_and_times_beyond_the_last_are_refused() {
        for operation in [6, 7, 9, u32::MAX] {
            assert_eq!(read(bytes(operation, 1)), Err(CalendarError { operation, time: 1 }));
        }
        assert_eq!(read(bytes(2, NEVER)), Ok((GuestMessage::Request(NEVER), 9)));
        assert!(read(bytes(2, NEVER + 1)).is_err() && read(bytes(5, NEVER)).is_err());
    }

    #[test]
    fn a_message_is_its_number_its_order_and_its_time() {
        assert_eq!(
            write(CalendarMessage::Run(258), 7),
            [6, 0, 0, 0, 7, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(write(CalendarMessage::FreeUntil(1), 0)[..4], [7, 0, 0, 0]);
    }
}
