//! Numbers of drives, paths, queues and dies: each kind of number has its own type, so that the compiler rejects
//! mix-ups.

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($integer:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $name(pub $integer);

        impl From<$name> for usize {
            #[inline]
            fn from(number: $name) -> usize {
                number.0 as usize
            }
        }
    )*};
}

numbers! {
    /// A drive of the system.
    DriveNumber(u16);
    /// A path of a drive: to its first or its second port.
    PathNumber(u8);
    /// A submission queue of a drive, with its interrupt vector.
    QueueNumber(u32);
    /// A die of a drive.
    DieNumber(u32);
    /// A superblock of a drive.
    SuperblockNumber(u32);
}

pub(crate) fn drives(count: usize) -> impl Iterator<Item = DriveNumber> {
    (0..count as u16).map(DriveNumber)
}
