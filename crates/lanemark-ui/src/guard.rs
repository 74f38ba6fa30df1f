//! Access control: a request must carry the token, address this host, and come from the server's own page.
//!
//! Any program and any web page on the machine can reach a loopback port. The token, 128 random bits from the operating
//! system, excludes other programs and users. The check of the host name excludes pages whose own name resolves to this
//! address (DNS rebinding). The check of the origin excludes pages that send a request without reading its response. A
//! process that can read the memory of the user's processes cannot be excluded.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;

use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode, Uri};

/// The header that carries the token if there is no cookie.
pub const TOKEN_HEADER: &str = "x-lanemark-token";

/// Checks the origin of each request.
#[derive(Clone, Debug)]
pub struct Guard {
    token: String,
    port: u16,
}

/// The answer to a rejected request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Status of the answer.
    pub status: StatusCode,
    /// The reason, and advice on how to obtain access.
    pub text: &'static str,
}

const WRONG_HOST: Refusal = Refusal {
    status: StatusCode::FORBIDDEN,
    text: "This server answers only requests to 127.0.0.1, localhost and [::1] on its port.",
};
const WRONG_ORIGIN: Refusal =
    Refusal { status: StatusCode::FORBIDDEN, text: "The request comes from another page." };
const NO_TOKEN: Refusal = Refusal {
    status: StatusCode::FORBIDDEN,
    text: "The token is missing or wrong. Open the address that `lanemark ui` printed.",
};
const NO_HOST: Refusal = Refusal {
    status: StatusCode::BAD_REQUEST,
    text: "The request must name its host once, in plain text.",
};

impl Guard {
    /// Creates a guard for the server on `port`, with a new token.
    ///
    /// # Errors
    /// Returns an error if the system does not provide random bytes.
    pub fn new(port: u16) -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut token = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            let _ = write!(token, "{byte:02x}");
        }
        Ok(Self { token, port })
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the cookie with the token. Browsers store cookies by host and not by port, so the cookie's name contains
    /// the port.
    pub fn cookie(&self) -> String {
        format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), self.token)
    }

    fn cookie_name(&self) -> String {
        format!("lanemark-{}", self.port)
    }

    /// Checks a request. Returns whether its address contains the token, so that the answer sets the cookie.
    ///
    /// # Errors
    /// Returns the answer to a rejected request.
    pub fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<bool, Refusal> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).ok_or(NO_HOST)?;
        if hosts.next().is_some() {
            return Err(NO_HOST);
        }
        let own = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{}", self.port));
        if !own.iter().any(|own| own.eq_ignore_ascii_case(host)) {
            return Err(WRONG_HOST);
        }
        let expected = format!("http://{host}");
        for origin in headers.get_all(ORIGIN) {
            if !origin.to_str().is_ok_and(|origin| origin.eq_ignore_ascii_case(&expected)) {
                return Err(WRONG_ORIGIN);
            }
        }
        let by_address = method == Method::GET
            && uri.path() == "/"
            && uri.query().is_some_and(|query| self.is_in_query(query));
        if by_address || self.is_in_headers(headers) { Ok(by_address) } else { Err(NO_TOKEN) }
    }

    fn is_in_query(&self, query: &str) -> bool {
        query.split('&').filter_map(|pair| pair.strip_prefix("token=")).any(|token| self.is(token))
    }

    fn is_in_headers(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie_name();
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|cookie| {
            let (key, value) = cookie.trim().split_once('=')?;
            (key == name).then_some(value)
        });
        let header = headers.get(TOKEN_HEADER).and_then(|value| value.to_str().ok());
        pairs.any(|token| self.is(token)) || header.is_some_and(|token| self.is(token))
    }

    /// Compares two texts in a time that does not depend on the position of the first difference.
    fn is(&self, text: &str) -> bool {
        let pairs = text.bytes().zip(self.token.bytes());
        text.len() == self.token.len()
            && pairs.fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn tokens_are_long_and_never_the_same() {
        let [one, two] = [Guard::new(1).unwrap(), Guard::new(1).unwrap()];
        assert_eq!(one.token().len(), 32);
        assert_ne!(one.token(), two.token());
    }

    #[test]
    fn a_request_is_let_in_by_address_cookie_or_header() {
        let guard = Guard::new(8080).unwrap();
        let token = guard.token().to_owned();
        let ask = |uri: &str, pairs: &[(&'static str, &str)]| {
            guard.check(&Method::GET, &uri.parse().unwrap(), &headers(pairs))
        };
        let host = ("host", "127.0.0.1:8080");
        assert_eq!(ask(&format!("/?token={token}"), &[host]), Ok(true));
        let cookie = format!("other=1; lanemark-8080={token}");
        assert_eq!(ask("/api/library", &[host, ("cookie", &cookie)]), Ok(false));
        let header = (TOKEN_HEADER, token.as_str());
        assert_eq!(ask("/api/library", &[("host", "LocalHost:8080"), header]), Ok(false));
        let own = ("origin", "http://[::1]:8080");
        assert_eq!(ask("/", &[("host", "[::1]:8080"), header, own]), Ok(false));

        assert_eq!(ask("/", &[host]), Err(NO_TOKEN));
        assert_eq!(ask(&format!("/api/library?token={token}"), &[host]), Err(NO_TOKEN));
        assert_eq!(ask("/", &[host, (TOKEN_HEADER, &token[1..])]), Err(NO_TOKEN));
        let other_port = format!("lanemark-8081={token}");
        assert_eq!(ask("/", &[host, ("cookie", &other_port)]), Err(NO_TOKEN));
        for wrong in ["127.0.0.1", "evil.example:8080", "127.0.0.1:80", "127.0.0.1.evil:8080"] {
            assert_eq!(ask("/", &[("host", wrong), header]), Err(WRONG_HOST), "{wrong}");
        }
        for wrong in ["http://evil.example", "null", "https://127.0.0.1:8080", "http://[::1]:8080"]
        {
            assert_eq!(ask("/", &[host, header, ("origin", wrong)]), Err(WRONG_ORIGIN), "{wrong}");
        }
        assert_eq!(ask("/", &[header]), Err(NO_HOST));
        assert_eq!(ask("/", &[host, host, header]), Err(NO_HOST));
    }
}
