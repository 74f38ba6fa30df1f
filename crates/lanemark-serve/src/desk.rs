//! A desk: a socket at which short questions are answered, one after the other.
//!
//! Two are kept at a session: one for control over a Unix socket, a line for a line, and one on loopback that tells
//! figures as OpenMetrics over HTTP. Whoever asks has two seconds and four KiB.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::socket::{Listener, Socket};

/// Time that a question and its answer may take.
const TIME: Duration = Duration::from_secs(2);
/// The longest question.
const QUESTION_MAX: usize = 4096;

/// A desk that is open.
pub struct Desk {
    listener: Arc<Listener>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The end of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The end of the first line.
    Line,
    /// An empty line, as the head of an HTTP request has it.
    Head,
}

impl Desk {
    /// Opens a desk at `listener`; `answer` gets each question, without its end.
    ///
    /// # Errors
    /// Where there can be no thread.
    pub fn open(
        listener: Listener,
        ends: Ends,
        answer: impl Fn(&str) -> String + Send + 'static,
    ) -> io::Result<Self> {
        let (listener, ended) = (Arc::new(listener), Arc::new(AtomicBool::new(false)));
        let (listens, is_over) = (Arc::clone(&listener), Arc::clone(&ended));
        let run = move || {
            loop {
                let socket = listens.accept();
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                match socket {
                    // Whoever does not ask, or goes away, is not answered.
                    Ok(socket) => drop(serve(&socket, ends, &answer)),
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            }
        };
        let thread = Some(thread::Builder::new().name("desk".to_owned()).spawn(run)?);
        Ok(Self { listener, ended, thread })
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        self.listener.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(socket: &Socket, ends: Ends, answer: &impl Fn(&str) -> String) -> io::Result<()> {
    let end = Instant::now() + TIME;
    let mut question = Vec::new();
    let mark: &[u8] = match ends {
        Ends::Line => b"\n",
        Ends::Head => b"\r\n\r\n",
    };
    let length = loop {
        if let Some(at) = question.windows(mark.len()).position(|here| here == mark) {
            break at;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || question.len() >= QUESTION_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        socket.set_time_out(Some(left))?;
        let mut bytes = [0; 512];
        match socket.receive(&mut bytes)? {
            0 => return Ok(()),
            read => question.extend_from_slice(&bytes[..read]),
        }
    };
    let question = String::from_utf8_lossy(&question[..length]).into_owned();
    socket.send_all(answer(question.trim()).as_bytes())?;
    socket.close();
    Ok(())
}

/// Answers the head of an HTTP request: `GET` of `/metrics` gets `metrics`.
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

    fn desk(ends: Ends) -> (Desk, u16) {
        let listener = Listener::bind(&Endpoint::Loopback(0)).unwrap();
        let port = listener.port().unwrap();
        (Desk::open(listener, ends, |question| format!("you said {question}\n")).unwrap(), port)
    }

    fn ask(port: u16, question: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(question).unwrap();
        let mut answer = String::new();
        // A desk that does not answer may reset the connection.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn a_line_is_answered_and_a_client_that_says_nothing_stops_others_for_two_seconds_at_most() {
        let (_desk, port) = desk(Ends::Line);
        let silent = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let began = Instant::now();
        assert_eq!(ask(port, b"status\n"), "you said status\n");
        assert!(began.elapsed() < Duration::from_secs(4));
        drop(silent);
        assert_eq!(ask(port, &[b'x'; 9000]), "");
        assert_eq!(ask(port, b"\xff\xfe\n"), "you said \u{fffd}\u{fffd}\n");
    }

    #[test]
    fn http_answers_get_alone() {
        let told = |head| http(head, || "lanemark 1\n# EOF\n".to_owned());
        assert!(told("GET /metrics HTTP/1.1\r\nHost: x").starts_with("HTTP/1.1 200"));
        assert!(told("GET /metrics HTTP/1.1").ends_with("\r\n\r\nlanemark 1\n# EOF\n"));
        assert!(told("GET /other HTTP/1.1").starts_with("HTTP/1.1 404"));
        assert!(told("POST /metrics HTTP/1.1").starts_with("HTTP/1.1 400"));
        assert!(told("").starts_with("HTTP/1.1 400"));
    }
}
