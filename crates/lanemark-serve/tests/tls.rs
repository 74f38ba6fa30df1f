//! Served systems over TLS: third-party clients with certificates, clients without certificates, and hostile clients.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lanemark_schema::units::Bytes;
use lanemark_serve::clock::TimeScale;
use lanemark_serve::data::{DriveCache, ExportData};
use lanemark_serve::session::{Session, SessionPlan, StartContent};
use lanemark_serve::socket::Endpoint;
use lanemark_serve::tls::{AcceptedClients, Tls};
use lanemark_sim::SystemSpec;
use lanemark_sim::spec::WriteCacheMode;
use lanemark_testbed::{tool, tool_or_skip};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

const SIZE: u64 = 8 << 20;
const IHAVEOPT: &[u8; 8] = b"IHAVEOPT";
/// Option `NBD_OPT_EXPORT_NAME`.
const EXPORT_NAME: u32 = 1;
/// Option `NBD_OPT_LIST`.
const LIST: u32 = 3;
/// Option `NBD_OPT_STARTTLS`.
const STARTTLS: u32 = 5;
/// Option `NBD_OPT_GO`.
const GO: u32 = 7;
/// Reply `NBD_REP_ACK`.
const ACK: u32 = 1;
/// Reply `NBD_REP_ERR_TLS_REQD`.
const TLS_REQUIRED: u32 = (1 << 31) | 5;
/// Reply `NBD_REP_SERVER`, with the name of an export.
const SERVER: u32 = 2;

/// Two authorities, and certificates of a server and a client from one of them, in the file layout of libnbd and QEMU.
struct Certificates {
    folder: TempDir,
}

impl Certificates {
    /// Creates the certificates, or returns `None` if `openssl` is not installed.
    fn new() -> Option<Self> {
        let one = Self { folder: tempfile::tempdir().unwrap() };
        one.authority("ca-cert", "ca-key")?;
        one.authority("other-cert", "other-key")?;
        for (name, days) in [("server", "30"), ("client", "30"), ("expired", "-1")] {
            one.signed(name, "ca-cert", "ca-key", days);
        }
        one.signed("stranger", "other-cert", "other-key", "30");
        Some(one)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(format!("{name}.pem")).display().to_string()
    }

    fn authority(&self, certificate: &str, key: &str) -> Option<()> {
        let (certificate, key) = (self.path(certificate), self.path(key));
        let words = [
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "30",
            "-subj",
            "/CN=authority",
            "-keyout",
            &key,
            "-out",
            &certificate,
        ];
        tool_or_skip("openssl", &words).map(drop)
    }

    fn signed(&self, name: &str, authority: &str, authority_key: &str, days: &str) {
        let (key, request) = (self.path(&format!("{name}-key")), self.path(&format!("{name}-req")));
        let names = self.path("names");
        fs::write(&names, "subjectAltName=DNS:localhost,IP:127.0.0.1\n").unwrap();
        let words = [
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            "/CN=localhost",
            "-keyout",
            &key,
            "-out",
            &request,
        ];
        tool("openssl", &words).unwrap();
        let (by, by_key) = (self.path(authority), self.path(authority_key));
        let out = self.path(&format!("{name}-cert"));
        let words = [
            "x509",
            "-req",
            "-in",
            &request,
            "-CA",
            &by,
            "-CAkey",
            &by_key,
            "-CAcreateserial",
            "-days",
            days,
            "-extfile",
            &names,
            "-out",
            &out,
        ];
        tool("openssl", &words).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Returns a client with this name that has negotiated TLS and has not sent another option.
    fn connect(&self, session: &Session, name: &str) -> StreamOwned<ClientConnection, TcpStream> {
        let mut stream = in_the_clear(session);
        stream.write_all(&option(STARTTLS, &[])).unwrap();
        assert_eq!(reply(&mut stream), ACK);
        let certificates = |name: &str| {
            let pem = self.read(name);
            CertificateDer::pem_slice_iter(&pem).map(Result::unwrap).collect::<Vec<_>>()
        };
        let mut roots = RootCertStore::empty();
        certificates("ca-cert").into_iter().for_each(|certificate| roots.add(certificate).unwrap());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(
                certificates(&format!("{name}-cert")),
                PrivateKeyDer::from_pem_slice(&self.read(&format!("{name}-key"))).unwrap(),
            )
            .unwrap();
        let server = ServerName::try_from("localhost").unwrap();
        StreamOwned::new(ClientConnection::new(Arc::new(config), server).unwrap(), stream)
    }

    /// Returns a folder with the authority and a client's certificate and key under their usual names.
    fn client(&self, name: &str) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (from, to) in [
            ("ca-cert".to_owned(), "ca-cert"),
            (format!("{name}-cert"), "client-cert"),
            (format!("{name}-key"), "client-key"),
        ] {
            fs::copy(self.path(&from), folder.path().join(format!("{to}.pem"))).unwrap();
        }
        folder
    }

    fn tls(&self, clients: &AcceptedClients) -> Tls {
        Tls::new(&self.read("server-cert"), &self.read("server-key"), clients).unwrap()
    }

    fn for_its_clients(&self) -> Session {
        serve(self.tls(&AcceptedClients::Of(self.read("ca-cert"))))
    }
}

fn serve(tls: Tls) -> Session {
    let system = SystemSpec::example().checked().unwrap();
    let cache = DriveCache { kind: WriteCacheMode::Volatile, size: 4 << 20 };
    let plan = SessionPlan {
        system: &system,
        faults: &[],
        description: "the example".to_owned(),
        data: ExportData::memory(SIZE, cache, 1).unwrap(),
        endpoint: Some(Endpoint::Address(SocketAddr::from(([127, 0, 0, 1], 0)))),
        tls: Some(tls),
        content: StartContent { written_bytes: Bytes(SIZE), is_just_written: false },
        scale: TimeScale::ONE,
        seed: 1,
        outside: None,
        has_latency: true,
    };
    Session::start(plan).unwrap()
}

fn uri(session: &Session, certificates: &Path) -> String {
    format!(
        "nbds://localhost:{}/?tls-certificates={}",
        session.port().unwrap(),
        certificates.display()
    )
}

fn option(option: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = IHAVEOPT.to_vec();
    bytes.extend_from_slice(&option.to_be_bytes());
    bytes.extend_from_slice(&(data.len() as u32).to_be_bytes());
    bytes.extend_from_slice(data);
    bytes
}

/// Returns a client without TLS that has received its greeting and sent its flags.
fn in_the_clear(session: &Session) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", session.port().unwrap())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
    stream.write_all(&3u32.to_be_bytes()).unwrap();
    stream
}

/// Returns the type of the reply to an option.
fn reply(stream: &mut TcpStream) -> u32 {
    let mut header = [0; 20];
    stream.read_exact(&mut header).unwrap();
    let length = u32::from_be_bytes(header[16..].try_into().unwrap());
    std::io::copy(&mut stream.take(length.into()), &mut std::io::sink()).unwrap();
    u32::from_be_bytes(header[12..16].try_into().unwrap())
}

#[test]
fn libnbd_and_qemu_read_and_write_over_tls() {
    let Some(certificates) = Certificates::new() else { return };
    let (session, own) = (certificates.for_its_clients(), certificates.client("client"));
    let uri = uri(&session, own.path());
    let Some(output) = tool_or_skip("nbdinfo", &[&uri]) else { return };
    assert!(output.contains("with TLS") && output.contains("the example"), "{output}");
    let image = own.path().join("image");
    let content: Vec<u8> = (0..SIZE).map(|at| (at / 4096 * 31 + at % 251) as u8).collect();
    fs::write(&image, &content).unwrap();
    let image = image.display().to_string();
    tool("nbdcopy", &[&image, &uri]).unwrap();
    let back = own.path().join("back").display().to_string();
    tool("nbdcopy", &[&uri, &back]).unwrap();
    assert!(fs::read(&back).unwrap() == content, "the copied data differs");
    let credentials = format!("tls-creds-x509,id=t,endpoint=client,dir={}", own.path().display());
    let port = session.port().unwrap();
    let export =
        format!("driver=nbd,server.type=inet,server.host=localhost,server.port={port},tls-creds=t");
    let words = ["compare", "--object", &credentials, "--image-opts", &export, "--image-opts"];
    let file = format!("driver=raw,file.driver=file,file.filename={image}");
    let words: Vec<&str> = words.into_iter().take(5).chain([file.as_str()]).collect();
    let output = tool_or_skip("qemu-img", &words).unwrap();
    assert!(output.contains("identical"), "{output}");
    let (figures, closed) = session.end();
    closed.unwrap();
    let live = figures.sample.live.unwrap();
    assert_eq!(live.writes.unwrap().bytes.get(), SIZE);
}

#[test]
fn clients_without_a_certificate_of_the_authority_are_refused() {
    let Some(certificates) = Certificates::new() else { return };
    let session = certificates.for_its_clients();
    for name in ["stranger", "expired"] {
        let own = certificates.client(name);
        let output = tool("nbdinfo", &[&uri(&session, own.path())]);
        assert!(output.is_err(), "{name}: {output:?}");
    }
    let none = tempfile::tempdir().unwrap();
    fs::copy(certificates.path("ca-cert"), none.path().join("ca-cert.pem")).unwrap();
    assert!(tool("nbdinfo", &[&uri(&session, none.path())]).is_err());
    // The same client is accepted by a server that accepts any client.
    let open = serve(certificates.tls(&AcceptedClients::Any));
    let output = tool("nbdinfo", &[&uri(&open, none.path())]).unwrap();
    assert!(output.contains("with TLS"), "{output}");
    // A client does not accept a server that another authority has certified.
    let foreign = Tls::new(
        &certificates.read("stranger-cert"),
        &certificates.read("stranger-key"),
        &AcceptedClients::Any,
    );
    let foreign = serve(foreign.unwrap());
    assert!(tool("nbdinfo", &[&uri(&foreign, none.path())]).is_err());
}

#[test]
fn nothing_is_sent_unencrypted() {
    let Some(certificates) = Certificates::new() else { return };
    let session = serve(certificates.tls(&AcceptedClients::Any));
    let mut client = in_the_clear(&session);
    for (number, data) in [(LIST, &[][..]), (GO, &[0; 6]), (99, b"what"), (LIST, &[1; 100])] {
        client.write_all(&option(number, data)).unwrap();
        assert_eq!(reply(&mut client), TLS_REQUIRED, "option {number}");
    }
    client.write_all(&option(EXPORT_NAME, b"lanemark")).unwrap();
    assert_eq!(
        client.read(&mut [0; 1]).unwrap_or(0),
        0,
        "the one option without a refusal ends it"
    );
    let clear = format!("nbd://127.0.0.1:{}", session.port().unwrap());
    assert!(tool("nbdinfo", &[&clear]).is_err(), "a client without TLS receives nothing");
}

#[test]
fn unencrypted_bytes_after_starttls_are_not_an_option() {
    let Some(certificates) = Certificates::new() else { return };
    let session = serve(certificates.tls(&AcceptedClients::Any));
    let mut client = in_the_clear(&session);
    let mut both = option(STARTTLS, &[]);
    both.extend_from_slice(&option(LIST, &[]));
    client.write_all(&both).unwrap();
    assert_eq!(reply(&mut client), ACK);
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    assert!(rest.len() < 64 && !rest.windows(8).any(|window| window == b"lanemark"), "{rest:?}");
}

#[test]
fn hostile_clients_end_and_others_are_served() {
    let Some(certificates) = Certificates::new() else { return };
    let session = serve(certificates.tls(&AcceptedClients::Any));
    let own = certificates.client("client");
    // Some clients send nothing, some stop during the handshake, and some send data that does not follow any protocol.
    let mut open = Vec::new();
    for number in 0..30u8 {
        let mut client = in_the_clear(&session);
        match number % 3 {
            0 => {}
            1 => {
                client.write_all(&option(STARTTLS, &[])).unwrap();
                assert_eq!(reply(&mut client), ACK);
                client.write_all(&[0x16, 3, 1, 2, 0, 1]).unwrap();
            }
            _ => client.write_all(&[number; 4096]).unwrap(),
        }
        open.push(client);
    }
    let mut long = in_the_clear(&session);
    let mut header = option(LIST, &[]);
    header[12..16].copy_from_slice(&u32::MAX.to_be_bytes());
    long.write_all(&header).unwrap();
    assert_eq!(long.read(&mut [0; 1]).unwrap_or(0), 0, "an option of 4 GiB ends it");
    let began = Instant::now();
    if let Some(output) = tool_or_skip("nbdinfo", &[&uri(&session, own.path())]) {
        assert!(output.contains("with TLS"), "{output}");
    }
    assert!(began.elapsed() < Duration::from_secs(5), "other clients do not wait");
    // All connections end when the time limit for their handshake expires, and the server ends despite open
    // connections.
    let until = Instant::now() + Duration::from_secs(20);
    while session.figures().connections > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(session.figures().connections, 0);
    let _late = in_the_clear(&session);
    let (_, closed) = session.end();
    closed.unwrap();
}

#[test]
fn half_open_connections_keep_no_certified_client_out() {
    let Some(certificates) = Certificates::new() else { return };
    let session = certificates.for_its_clients();
    let mut half_open = Vec::new();
    for number in 0..80 {
        let mut client = in_the_clear(&session);
        if number % 2 == 0 {
            client.write_all(&option(STARTTLS, &[])).unwrap();
            assert_eq!(reply(&mut client), ACK);
        }
        half_open.push(client);
    }
    assert!(session.figures().connections <= lanemark_serve::server::ARRIVING_MAX);
    let began = Instant::now();
    let mut client = certificates.connect(&session, "client");
    client.write_all(&option(LIST, &[])).unwrap();
    let mut answer = [0; 16];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(u32::from_be_bytes(answer[12..].try_into().unwrap()), SERVER);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[test]
fn invalid_certificates_are_named() {
    let Some(certificates) = Certificates::new() else { return };
    let (own, key) = (certificates.read("server-cert"), certificates.read("server-key"));
    let says = |certificates: &[u8], key: &[u8], clients: AcceptedClients, what: &str| {
        let error = Tls::new(certificates, key, &clients).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    says(b"", &key, AcceptedClients::Any, "the certificate: no certificate in PEM");
    says(&key, &key, AcceptedClients::Any, "the certificate: no certificate in PEM");
    says(&own, b"junk", AcceptedClients::Any, "the key: no private key in PEM");
    says(&own, &key, AcceptedClients::Of(b"junk".to_vec()), "the client authorities");
    says(&own, &certificates.read("client-key"), AcceptedClients::Any, "");
}

/// Returns bytes that are not certificates, up to the maximum length of a certificate file.
fn hostile_pem(own: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    const LONG: usize = 1 << 20;
    const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----\n";
    const END: &[u8] = b"-----END CERTIFICATE-----\n";
    let mut flipped = own.to_vec();
    flipped[own.len() / 2] ^= 0x15;
    let repeated = |one: &[u8]| one.repeat(LONG / one.len());
    vec![
        ("zeros", vec![0; LONG]),
        ("a line", vec![b'A'; LONG]),
        ("binary", (0..LONG).map(|at| (at * 7919 % 251) as u8).collect()),
        ("a beginning", BEGIN.to_vec()),
        ("a beginning and a line", [BEGIN, &vec![b'A'; LONG]].concat()),
        ("half", own[..own.len() / 2].to_vec()),
        ("a changed letter", flipped),
        ("empty certificates", repeated(&[BEGIN, END].concat())),
        ("beginnings", repeated(BEGIN)),
        ("ends", repeated(END)),
        ("short certificates", repeated(&[BEGIN, b"AAAA\n", END].concat())),
        ("a certificate of zeros", [BEGIN, &b"AAAA\n".repeat(LONG / 8), END].concat()),
    ]
}

#[test]
fn hostile_certificates_are_refused_at_once() {
    let Some(certificates) = Certificates::new() else { return };
    let (own, key) = (certificates.read("server-cert"), certificates.read("server-key"));
    for (name, bytes) in hostile_pem(&own) {
        let began = Instant::now();
        let refused = [
            Tls::new(&bytes, &key, &AcceptedClients::Any).is_err(),
            Tls::new(&own, &bytes, &AcceptedClients::Any).is_err(),
            Tls::new(&own, &key, &AcceptedClients::Of(bytes)).is_err(),
        ];
        // An authority may sign with any key, so only the form of its certificate is checked.
        let is_changed = name == "a changed letter";
        assert!(refused[..2] == [true; 2] && (refused[2] || is_changed), "{name}: {refused:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{name}: {:?}", began.elapsed());
    }
    // Other text around the certificates is ignored, as in files that openssl writes.
    let within = [b"subject=server\n\n", &own[..], b"\xff\xfe no more\n"].concat();
    assert!(Tls::new(&within, &key, &AcceptedClients::Any).is_ok());
}
