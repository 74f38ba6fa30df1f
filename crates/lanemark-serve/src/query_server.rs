//! A desk is a socket that answers short queries.
//!
//! A session has two desks: one for control over a Unix socket, which replies with one line to each line, and one on
//! loopback, which serves figures as OpenMetrics over HTTP. Each client has two seconds and four KiB. One thread serves
//! all clients: it waits until any of them can send or receive bytes (poll(2)), so that a client that sends no query or
//! reads no reply does not delay the others. There are up to sixteen clients; if another connects, the desk closes the
//! oldest client that has not sent its query yet.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::socket::{Listener, Socket};

/// Time limit for a query and its reply.
const TIME: Duration = Duration::from_secs(2);
/// Maximum length of a query.
const QUESTION_MAX: usize = 4096;
/// Maximum number of clients at a time.
const ASKERS_MAX: usize = 16;

/// An open desk.
pub struct QueryServer {
    listener: Arc<Listener>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The end of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryEnd {
    /// The end of the first line.
    Line,
    /// An empty line, as at the end of an HTTP request's head.
    Head,
}

/// A client with its query and the rest of its reply.
struct WaitingClient {
    socket: Socket,
    until: Instant,
    question: Vec<u8>,
    /// The rest of the reply; `None` until the query is complete.
    answer: Option<Vec<u8>>,
}

impl QueryServer {
    /// Opens a desk at `listener`; `answer` receives each query, without its terminator.
    ///
    /// # Errors
    /// Returns the kernel's error if no thread can be started.
    pub fn open(
        listener: Listener,
        ends: QueryEnd,
        answer: impl Fn(&str) -> String + Send + 'static,
    ) -> io::Result<Self> {
        let (listener, ended) = (Arc::new(listener), Arc::new(AtomicBool::new(false)));
        let (listens, is_over) = (Arc::clone(&listener), Arc::clone(&ended));
        let run = move || {
            let mut askers = Vec::new();
            while !is_over.load(Ordering::SeqCst) {
                if turn(&listens, &mut askers, ends, &answer).is_err() {
                    thread::sleep(Duration::from_millis(10));
                }
            }
        };
        let thread = Some(thread::Builder::new().name("desk".to_owned()).spawn(run)?);
        Ok(Self { listener, ended, thread })
    }
}

impl Drop for QueryServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        self.listener.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for a connection, a query or room for a reply, and serves it.
fn turn(
    listener: &Listener,
    askers: &mut Vec<WaitingClient>,
    ends: QueryEnd,
    answer: &impl Fn(&str) -> String,
) -> io::Result<()> {
    let flag = |asker: &WaitingClient| match asker.answer {
        Some(_) => PollFlags::OUT,
        None => PollFlags::IN,
    };
    let mut waited = vec![PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
    waited.extend(
        askers.iter().map(|asker| PollFd::from_borrowed_fd(asker.socket.as_fd(), flag(asker))),
    );
    let now = Instant::now();
    let left = askers.iter().map(|asker| asker.until.saturating_duration_since(now)).min();
    let left = left.map(|left| Timespec {
        tv_sec: left.as_secs().cast_signed(),
        tv_nsec: left.subsec_nanos().into(),
    });
    match poll(&mut waited, left.as_ref()) {
        Err(Errno::INTR) => return Ok(()),
        polled => drop(polled?),
    }
    let ready: Vec<bool> = waited.iter().map(|one| !one.revents().is_empty()).collect();
    let now = Instant::now();
    let mut at = 0;
    askers.retain_mut(|asker| {
        at += 1;
        asker.until > now && (!ready[at] || asker.go_on(ends, answer).unwrap_or(false))
    });
    if ready[0] {
        let socket = listener.accept()?;
        if askers.len() >= ASKERS_MAX {
            let oldest = askers.iter().position(|asker| asker.answer.is_none()).unwrap_or(0);
            askers.remove(oldest);
        }
        let until = Instant::now() + TIME;
        askers.push(WaitingClient { socket, until, question: Vec::new(), answer: None });
    }
    Ok(())
}

impl WaitingClient {
    /// Reads or sends without waiting. Returns false once the client is served.
    fn go_on(&mut self, ends: QueryEnd, answer: &impl Fn(&str) -> String) -> io::Result<bool> {
        if self.answer.is_none() {
            let mut bytes = [0; 512];
            match self.socket.receive(&mut bytes)? {
                0 => return Ok(false),
                read => self.question.extend_from_slice(&bytes[..read]),
            }
            let mark: &[u8] = match ends {
                QueryEnd::Line => b"\n",
                QueryEnd::Head => b"\r\n\r\n",
            };
            let end = self.question.windows(mark.len()).position(|here| here == mark);
            let Some(end) = end else { return Ok(self.question.len() < QUESTION_MAX) };
            let question = String::from_utf8_lossy(&self.question[..end]).into_owned();
            self.answer = Some(answer(question.trim()).into_bytes());
        }
        let Some(rest) = &mut self.answer else { return Ok(true) };
        let sent = self.socket.send_some(rest)?;
        rest.drain(..sent);
        if rest.is_empty() {
            self.socket.close();
        }
        Ok(!rest.is_empty())
    }
}

/// Answers the head of an HTTP request: `GET` of `/metrics` returns `metrics`.
pub fn http(head: &str, metrics: impl FnOnce() -> String) -> String {
    let first = head.lines().next().unwrap_or_default();
    let (status, kind, body) = match first.split(' ').collect::<Vec<_>>()[..] {
        ["GET", "/metrics" | "/", _] => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ("200 OK", kind, metrics())
        }
        ["GET", _, _] => ("404 Not Found", "text/plain", "figures are at /metrics\n".to_owned()),
        _ => ("400 Bad Request", "text/plain", "only GET is answered\n".to_owned()),
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Endpoint;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn desk(ends: QueryEnd) -> (QueryServer, u16) {
        let listener = Listener::bind(&Endpoint::Loopback(0)).unwrap();
        let port = listener.port().unwrap();
        (
            QueryServer::open(listener, ends, |question| format!("you said {question}\n")).unwrap(),
            port,
        )
    }

    fn ask(port: u16, question: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(question).unwrap();
        let mut answer = String::new();
        // A desk that does not reply may reset the connection.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn a_line_is_answered_and_a_silent_client_blocks_no_other() {
        let (_desk, port) = desk(QueryEnd::Line);
        let came = |_| TcpStream::connect(("127.0.0.1", port)).unwrap();
        let silent: Vec<TcpStream> = (0..3 * ASKERS_MAX).map(came).collect();
        let began = Instant::now();
        assert_eq!(ask(port, b"status\n"), "you said status\n");
        assert_eq!(ask(port, b"again\n"), "you said again\n");
        assert!(began.elapsed() < TIME, "{:?}", began.elapsed());
        drop(silent);
        assert_eq!(ask(port, &[b'x'; 9000]), "");
        assert_eq!(ask(port, b"\xff\xfe\n"), "you said \u{fffd}\u{fffd}\n");
    }

    #[test]
    fn one_who_says_nothing_is_sent_away_and_a_slow_one_gets_all() {
        let listener = Listener::bind(&Endpoint::Loopback(0)).unwrap();
        let port = listener.port().unwrap();
        let long = "x".repeat(16 << 20);
        let reply = long.clone();
        let _desk = QueryServer::open(listener, QueryEnd::Line, move |_| reply.clone()).unwrap();
        let mut slow = TcpStream::connect(("127.0.0.1", port)).unwrap();
        slow.write_all(b"all\n").unwrap();
        let mut silent = TcpStream::connect(("127.0.0.1", port)).unwrap();
        silent.set_read_timeout(Some(2 * TIME)).unwrap();
        thread::sleep(Duration::from_millis(200));
        let mut answer = String::new();
        slow.read_to_string(&mut answer).unwrap();
        assert!(answer == long);
        assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0);
    }

    #[test]
    fn http_answers_get_alone() {
        let answer = |head| http(head, || "lanemark 1\n# EOF\n".to_owned());
        assert!(answer("GET /metrics HTTP/1.1\r\nHost: x").starts_with("HTTP/1.1 200"));
        assert!(answer("GET /metrics HTTP/1.1").ends_with("\r\n\r\nlanemark 1\n# EOF\n"));
        assert!(answer("GET /other HTTP/1.1").starts_with("HTTP/1.1 404"));
        assert!(answer("POST /metrics HTTP/1.1").starts_with("HTTP/1.1 400"));
        assert!(answer("").starts_with("HTTP/1.1 400"));
    }
}
