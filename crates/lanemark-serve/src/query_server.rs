//! A server that answers short queries at a socket.
//!
//! A session has a query server for control at a Unix socket, which answers one line. Each client has two seconds and
//! may send up to four KiB. One thread serves all clients: it waits until any of them can send or receive bytes
//! (poll(2)), so that a client that does not send a query or read a reply does not delay other clients. There are up to
//! sixteen clients; if another client connects, the server closes the oldest connection whose client has not sent its
//! query yet. [`ask`] is the client of a control socket.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::socket::{Listener, Socket};

/// Time limit for a query and its reply.
const TIME: Duration = Duration::from_secs(2);
/// Maximum length of a query.
const QUESTION_MAX: usize = 4096;
/// Maximum number of clients at a time.
const ASKERS_MAX: usize = 16;

/// An open query server.
pub struct QueryServer {
    listener: Arc<Listener>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
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
    /// Opens a query server at `listener`; `answer` receives each query, without its terminator.
    ///
    /// # Errors
    /// Returns the kernel's error if no thread can be started.
    pub fn open(
        listener: Listener,
        answer: impl Fn(&str) -> String + Send + 'static,
    ) -> io::Result<Self> {
        let listener = Arc::new(listener);
        let ended = Arc::new(AtomicBool::new(false));
        let listens = Arc::clone(&listener);
        let is_over = Arc::clone(&ended);
        let run = move || {
            let mut askers = Vec::new();
            while !is_over.load(Ordering::SeqCst) {
                if serve_pending(&listens, &mut askers, &answer).is_err() {
                    thread::sleep(Duration::from_millis(10));
                }
            }
        };
        let thread = Some(thread::Builder::new().name("query-server".to_owned()).spawn(run)?);
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
fn serve_pending(
    listener: &Listener,
    askers: &mut Vec<WaitingClient>,
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
        asker.until > now && (!ready[at] || asker.go_on(answer).unwrap_or(false))
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
    /// Reads or sends without waiting. Returns false when the client has been served.
    fn go_on(&mut self, answer: &impl Fn(&str) -> String) -> io::Result<bool> {
        if self.answer.is_none() {
            let mut bytes = [0; 512];
            match self.socket.receive(&mut bytes)? {
                0 => return Ok(false),
                read => self.question.extend_from_slice(&bytes[..read]),
            }
            let end = self.question.iter().position(|byte| *byte == b'\n');
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

/// Sends a query in one line to the socket of a query server, and returns the answer.
///
/// # Errors
/// Returns an error if no server answers within `time`, and if the answer is not text, is longer than `most` bytes, or
/// does not end with a newline.
pub fn ask(path: &Path, query: &str, most: usize, time: Duration) -> io::Result<String> {
    let until = Instant::now() + time;
    if query.len() >= QUESTION_MAX {
        let message = format!("a command may have up to {} bytes", QUESTION_MAX - 1);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let answer = send_query(path, query, most, until).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            let message = format!("the server did not answer within {} s", time.as_secs_f64());
            io::Error::new(io::ErrorKind::TimedOut, message)
        }
        _ => error,
    })?;
    let answer_error = |kind, what: String| Err(io::Error::new(kind, what));
    match String::from_utf8(answer) {
        Ok(text) if text.len() > most => answer_error(
            io::ErrorKind::InvalidData,
            format!("the answer is longer than {most} bytes"),
        ),
        Ok(text) if text.ends_with('\n') => Ok(text),
        Ok(_) => {
            let what = "the server closed the connection before the end of its answer";
            answer_error(io::ErrorKind::UnexpectedEof, what.to_owned())
        }
        Err(_) => answer_error(io::ErrorKind::InvalidData, "the answer is not text".to_owned()),
    }
}

/// Sends a query and reads the answer, or its first bytes if it is longer than `most` bytes.
fn send_query(path: &Path, query: &str, most: usize, until: Instant) -> io::Result<Vec<u8>> {
    let left = || match until.saturating_duration_since(Instant::now()) {
        left if left.is_zero() => Err(io::Error::from(io::ErrorKind::TimedOut)),
        left => Ok(left),
    };
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // The limit also applies to connecting, which waits if the server does not accept connections.
    set_socket_timeout(&socket, Timeout::Send, Some(left()?))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    let mut stream = UnixStream::from(socket);
    stream.write_all(format!("{}\n", query.replace('\n', " ")).as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    let mut bytes = [0; 4096];
    while answer.len() <= most {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut bytes) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(bytes.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Endpoint;
    use std::net::TcpStream;
    use std::os::unix::net::UnixListener;
    use tempfile::TempDir;

    fn query_server() -> (QueryServer, u16) {
        let listener = Listener::bind(&Endpoint::Loopback(0)).unwrap();
        let port = listener.port().unwrap();
        (QueryServer::open(listener, |question| format!("you said {question}\n")).unwrap(), port)
    }

    fn say(port: u16, question: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(question).unwrap();
        let mut answer = String::new();
        // A query server that does not reply may reset the connection.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn a_line_is_answered_and_a_silent_client_blocks_no_other() {
        let (_server, port) = query_server();
        let came = |_| TcpStream::connect(("127.0.0.1", port)).unwrap();
        let silent: Vec<TcpStream> = (0..3 * ASKERS_MAX).map(came).collect();
        let began = Instant::now();
        assert_eq!(say(port, b"status\n"), "you said status\n");
        assert_eq!(say(port, b"again\n"), "you said again\n");
        assert!(began.elapsed() < TIME, "{:?}", began.elapsed());
        drop(silent);
        assert_eq!(say(port, &[b'x'; 9000]), "");
        assert_eq!(say(port, b"\xff\xfe\n"), "you said \u{fffd}\u{fffd}\n");
    }

    #[test]
    fn hostile_clients_are_sent_away_and_the_next_one_is_answered() {
        let (_server, port) = query_server();
        let connect = || TcpStream::connect(("127.0.0.1", port)).unwrap();
        // A query that never ends, sent in one piece and in many; the server may close the connection while the query
        // arrives.
        let mut endless = connect();
        for _ in 0..64 {
            let _ = endless.write_all(&[b'x'; 1 << 16]);
        }
        // Half a query without a continuation, zero bytes, and a query whose answer is never read.
        let mut half = connect();
        half.write_all(b"stat").unwrap();
        half.shutdown(Shutdown::Write).unwrap();
        assert_eq!(half.read(&mut [0; 1]).unwrap(), 0);
        assert_eq!(say(port, &[0; 9000]), "");
        assert_eq!(say(port, b"\0\n"), "you said \0\n");
        connect().write_all(b"status\n").unwrap();
        // A thousand connections that send no query, three hundred at a time.
        for _ in 0..4 {
            let crowd: Vec<TcpStream> = (0..300).map(|_| connect()).collect();
            assert_eq!(say(port, b"status\n"), "you said status\n");
            drop(crowd);
        }
        assert_eq!(say(port, b"status\n"), "you said status\n");
    }

    /// Opens a socket whose first client receives `answer` in pieces of `piece` bytes, with a pause after each.
    fn server(answer: Vec<u8>, piece: usize, pause: Duration) -> (TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut query = String::new();
            client.read_to_string(&mut query).unwrap();
            assert_eq!(query, "two words\n");
            for piece in answer.chunks(piece) {
                if client.write_all(piece).is_err() {
                    break;
                }
                thread::sleep(pause);
            }
        });
        (folder, path)
    }

    #[test]
    fn a_query_gets_its_whole_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = Listener::bind(&Endpoint::Unix(path.clone())).unwrap();
        let answer = |question: &str| format!("you said {question}\n");
        let _server = QueryServer::open(listener, answer).unwrap();
        let said = |query: &str| ask(&path, query, 1 << 20, TIME);
        assert_eq!(said("two\nlines").unwrap(), "you said two lines\n");
        let longest = "x".repeat(QUESTION_MAX - 1);
        assert_eq!(said(&longest).unwrap(), format!("you said {longest}\n"));
        let error = said(&"x".repeat(QUESTION_MAX)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let long = vec![b'x'; 99_999];
        let (_folder, path) = server([&long[..], b"\n"].concat(), 1000, Duration::ZERO);
        assert_eq!(ask(&path, "two words", 100_000, TIME).unwrap().len(), 100_000);
    }

    #[test]
    fn hostile_servers_end_a_query() {
        let time = Duration::from_millis(300);
        let slow = Duration::from_millis(20);
        let endless = vec![b'x'; 1 << 20];
        for (answer, piece, pause, expected) in [
            (Vec::new(), 1, Duration::ZERO, "before the end of its answer"),
            (b"ok".to_vec(), 2, Duration::ZERO, "before the end of its answer"),
            (b"ok\nfaul".to_vec(), 3, Duration::ZERO, "before the end of its answer"),
            (b"\xff\xfe\n".to_vec(), 3, Duration::ZERO, "not text"),
            (endless.clone(), 1 << 16, Duration::ZERO, "longer than 1000 bytes"),
            // The answer comes one byte at a time, which would take several hours.
            (endless, 1, slow, "did not answer within 0.3 s"),
        ] {
            let (_folder, path) = server(answer, piece, pause);
            let began = Instant::now();
            let error = ask(&path, "two words", 1000, time).unwrap_err();
            assert!(error.to_string().contains(expected), "{expected}: {error}");
            assert!(began.elapsed() < Duration::from_secs(20), "{expected}");
        }
        // The socket does not accept connections, and its queue of waiting connections is full.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let address = SocketAddrUnix::new(&path).unwrap();
        let socket = || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap()
        };
        let listener = socket();
        rustix::net::bind(&listener, &address).unwrap();
        rustix::net::listen(&listener, 1).unwrap();
        let waiting: Vec<_> = (0..10).map(|_| socket()).collect();
        let refused = waiting.iter().map(|one| connect(one, &address)).filter(Result::is_err);
        assert!(refused.count() > 0);
        let began = Instant::now();
        let error = ask(&path, "two words", 1000, time).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn one_who_says_nothing_is_sent_away_and_a_slow_one_gets_all() {
        let listener = Listener::bind(&Endpoint::Loopback(0)).unwrap();
        let port = listener.port().unwrap();
        let long = "x".repeat(16 << 20);
        let reply = long.clone();
        let _server = QueryServer::open(listener, move |_| reply.clone()).unwrap();
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
}
