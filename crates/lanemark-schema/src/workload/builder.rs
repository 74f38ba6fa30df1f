//! Checked tests, and a builder for tests.

use std::ops::Deref;

use super::{Load, Pattern, SyntheticRequests, Test, TestError, TestStart};
use crate::units::{Bytes, Duration, QuantityError, Ratio};

/// A test whose values are all within their bounds, so that code that uses it can rely on them. A checked test
/// dereferences to its [`Test`]; a modified test must be checked again.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedTest(Test);

impl CheckedTest {
    /// Returns the plain values, which can then be changed.
    pub fn into_test(self) -> Test {
        self.0
    }
}

impl Deref for CheckedTest {
    type Target = Test;

    fn deref(&self) -> &Test {
        &self.0
    }
}

/// A test under construction. By default it has one thread with one request at a time, over the first GiB of the
/// target. Quantities are text with a unit, or typed values. A volume or a duration is required, so that the test ends.
///
/// ```
/// use lanemark_schema::units::{Bytes, Duration};
/// use lanemark_schema::workload::Test;
///
/// let test = Test::random_read("4 KiB").queue_depth(32).duration("2 s").build()?;
/// assert_eq!((test.name.as_str(), test.block), ("4 KiB random read, QD 32", Bytes::kibi(4)));
///
/// let typed = Test::random_read(Bytes::kibi(4)).queue_depth(32).duration(Duration::from_seconds(2));
/// assert_eq!(typed.build()?, test);
///
/// let error = Test::random_read("4 kB/s").duration("2 s").build().unwrap_err();
/// assert!(error.to_string().starts_with("block = 4 kB/s: `kB/s` is not a unit of"));
/// # Ok::<(), lanemark_schema::workload::TestError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct TestBuilder {
    /// The test without its requests, which are stored separately.
    test: Test,
    requests: SyntheticRequests,
    /// The first quantity that could not be parsed.
    error: Option<TestError>,
}

/// A value that can be converted to a `T`: a `T` itself, or text with its unit.
pub trait IntoQuantity<T> {
    /// Returns the value.
    ///
    /// # Errors
    /// Returns the string, and the reason why it cannot be parsed as this quantity.
    fn quantity(self) -> Result<T, (String, QuantityError)>;
}

impl IntoQuantity<Bytes> for Bytes {
    fn quantity(self) -> Result<Bytes, (String, QuantityError)> {
        Ok(self)
    }
}

impl IntoQuantity<Duration> for Duration {
    fn quantity(self) -> Result<Duration, (String, QuantityError)> {
        Ok(self)
    }
}

impl IntoQuantity<Ratio> for Ratio {
    fn quantity(self) -> Result<Ratio, (String, QuantityError)> {
        Ok(self)
    }
}

impl<T: std::str::FromStr<Err = QuantityError>> IntoQuantity<T> for &str {
    fn quantity(self) -> Result<T, (String, QuantityError)> {
        self.parse().map_err(|error| (self.to_owned(), error))
    }
}

impl Test {
    /// Returns the checked test.
    ///
    /// # Errors
    /// Returns the error of [`Test::check`].
    pub fn checked(self) -> Result<CheckedTest, TestError> {
        self.check()?;
        Ok(CheckedTest(self))
    }

    /// Returns a test whose fields can then be set: random reads of size `block` in the first GiB, at queue depth 1,
    /// without a name or an end.
    pub fn of_blocks(block: Bytes) -> Self {
        Self {
            name: String::new(),
            block,
            threads: 1,
            span: Bytes::mebi(1024),
            offset: Bytes::ZERO,
            volume: None,
            duration: None,
            rounds: None,
            interval: None,
            ramp: Duration::ZERO,
            compressibility: Ratio::ZERO,
            start: TestStart::default(),
            asks: SyntheticRequests::aligned_to(block).into(),
        }
    }

    /// Builds random reads of size `block` in the span.
    pub fn random_read(block: impl IntoQuantity<Bytes>) -> TestBuilder {
        TestBuilder::new(block, Pattern::Uniform, Ratio::ONE)
    }

    /// Builds random writes of size `block` in the span.
    pub fn random_write(block: impl IntoQuantity<Bytes>) -> TestBuilder {
        TestBuilder::new(block, Pattern::Uniform, Ratio::ZERO)
    }

    /// Builds sequential reads of size `block`.
    pub fn sequential_read(block: impl IntoQuantity<Bytes>) -> TestBuilder {
        TestBuilder::new(block, Pattern::Sequential, Ratio::ONE)
    }

    /// Builds sequential writes of size `block`.
    pub fn sequential_write(block: impl IntoQuantity<Bytes>) -> TestBuilder {
        TestBuilder::new(block, Pattern::Sequential, Ratio::ZERO)
    }
}

impl TestBuilder {
    fn new(block: impl IntoQuantity<Bytes>, pattern: Pattern, read_share: Ratio) -> Self {
        let requests =
            SyntheticRequests { pattern, read_share, ..SyntheticRequests::aligned_to(Bytes::ZERO) };
        let test = Test::of_blocks(Bytes::ZERO);
        Self { test, requests, error: None }.set("block", block, |builder, block| {
            builder.test.block = block;
            builder.requests.alignment = block;
        })
    }

    fn set<T>(
        mut self,
        field: &'static str,
        value: impl IntoQuantity<T>,
        to: impl FnOnce(&mut Self, T),
    ) -> Self {
        match value.quantity() {
            Ok(value) => to(&mut self, value),
            Err((value, error)) => {
                let bound = error.to_string();
                self.error.get_or_insert(TestError { field, value, bound });
            }
        }
        self
    }

    /// Sets the display name; the default name states the block size, the pattern and the queue depth.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.test.name);
        self
    }

    /// Sets the pattern of the requests' offsets.
    pub fn pattern(mut self, pattern: Pattern) -> Self {
        self.requests.pattern = pattern;
        self
    }

    /// Sets the number of requests outstanding per thread, 1 to [`QUEUE_DEPTH`](super::bound::QUEUE_DEPTH).
    pub fn queue_depth(mut self, queue_depth: u32) -> Self {
        self.requests.queue_depth = queue_depth;
        self
    }

    /// Sets the number of threads, 1 to [`THREADS`](super::bound::THREADS), each with its own queue.
    pub fn threads(mut self, threads: u32) -> Self {
        self.test.threads = threads;
        self
    }

    /// Sets the share of requests that are reads, such as `"70%"`.
    pub fn read_share(self, share: impl IntoQuantity<Ratio>) -> Self {
        self.set("read", share, |builder, share| builder.requests.read_share = share)
    }

    /// Sets the span: the size of the used part of the target.
    pub fn span(self, span: impl IntoQuantity<Bytes>) -> Self {
        self.set("span", span, |builder, span| builder.test.span = span)
    }

    /// Sets the offset on the target at which the span begins.
    pub fn offset(self, offset: impl IntoQuantity<Bytes>) -> Self {
        self.set("offset", offset, |builder, offset| builder.test.offset = offset)
    }

    /// Sets the alignment of every request's offset within the span; the default is the block size.
    pub fn alignment(self, alignment: impl IntoQuantity<Bytes>) -> Self {
        self.set("alignment", alignment, |builder, alignment| {
            builder.requests.alignment = alignment;
        })
    }

    /// Sets the volume: the amount of data after which the test ends.
    pub fn volume(self, volume: impl IntoQuantity<Bytes>) -> Self {
        self.set("volume", volume, |builder, volume| builder.test.volume = Some(volume))
    }

    /// Sets the time during which the test counts requests.
    pub fn duration(self, duration: impl IntoQuantity<Duration>) -> Self {
        self.set("duration", duration, |builder, duration| builder.test.duration = Some(duration))
    }

    /// Sets the time for which the load runs before requests are counted.
    pub fn ramp(self, ramp: impl IntoQuantity<Duration>) -> Self {
        self.set("ramp", ramp, |builder, ramp| builder.test.ramp = ramp)
    }

    /// Sets the time for which a thread waits after each burst, once all its requests are complete.
    pub fn think(self, think: impl IntoQuantity<Duration>) -> Self {
        self.set("think", think, |builder, think| builder.requests.think = think)
    }

    /// Sets the load: the times at which requests are submitted.
    pub fn load(mut self, load: Load) -> Self {
        self.requests.load = load;
        self
    }

    /// Returns the checked test.
    ///
    /// # Errors
    /// Returns the first quantity that could not be parsed, or the error of [`Test::check`].
    pub fn build(self) -> Result<CheckedTest, TestError> {
        let Self { mut test, requests, error } = self;
        if let Some(error) = error {
            return Err(error);
        }
        test.asks = requests.into();
        if test.name.is_empty() {
            test.name = test.description();
        }
        test.checked()
    }
}

impl Test {
    /// Returns a name that describes the test, such as `4 KiB random 70% read, QD 32 x 4`, for a test without a name.
    pub fn description(&self) -> String {
        let pattern = self.order_word().map_or(String::new(), |order| format!("{order} "));
        let share = self.read_share();
        let operation = match share {
            Some(Ratio::ONE) => "read".to_owned(),
            Some(Ratio::ZERO) => "write".to_owned(),
            Some(share) => format!("{share} read"),
            None => "read and write".to_owned(),
        };
        let depth = self.queue_depth().map_or(String::new(), |depth| format!(", QD {depth}"));
        let threads = match self.threads {
            1 => String::new(),
            threads => format!(" x {threads}"),
        };
        format!("{} {pattern}{operation}{depth}{threads}", self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_match_a_workload_file() {
        let test = Test::random_read("4 KiB").named("RND4K Q1T1 read").volume("16 MiB");
        assert_eq!(test.build().unwrap().into_test(), super::super::tests::random_read());
    }

    #[test]
    fn the_first_of_several_faults_is_reported_with_its_field() {
        let wrong = Test::sequential_write("128 KiB").ramp("5").span("x").queue_depth(0);
        let error = wrong.build().unwrap_err();
        assert_eq!((error.field, error.value.as_str()), ("ramp", "5"));
        let endless = Test::random_write(Bytes::kibi(4)).build().unwrap_err();
        assert_eq!(endless.field, "volume");
    }

    #[test]
    fn a_name_describes_the_requests() {
        let test = Test::sequential_write("1 MiB").threads(2).queue_depth(8).duration("1 s");
        let name = |test: TestBuilder| test.build().unwrap().name.clone();
        assert_eq!(name(test.clone()), "1 MiB sequential write, QD 8 x 2");
        let mixed = test.pattern(Pattern::Uniform).read_share("70%");
        assert_eq!(name(mixed), "1 MiB random 70% read, QD 8 x 2");
    }
}
