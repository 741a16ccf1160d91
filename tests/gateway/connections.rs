//! The port: what gets in, what does not, and how many may wait.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::place::Place;

const LIMIT: Duration = Duration::from_secs(60);

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("connected");
    stream.set_read_timeout(Some(LIMIT)).expect("set");
    stream
}

/// Sends a request for an upgrade with these lines, and returns the status.
fn upgrade(mut stream: TcpStream, lines: &str) -> String {
    write!(
        stream,
        "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{lines}\r\n"
    )
    .expect("sent");
    let mut head = [0; 12];
    stream.read_exact(&mut head).expect("an answer");
    String::from_utf8_lossy(&head[9..]).into_owned()
}

#[test]
fn only_loopback_hosts_and_no_web_page() {
    let place = Place::new();
    let served = place.serve(&[]);
    let port = served.port();
    for (lines, status) in [
        (format!("Host: localhost:{port}\r\n"), "101"),
        (format!("Host: 127.0.0.1:{port}\r\n"), "101"),
        (format!("Host: [::1]:{port}\r\n"), "101"),
        ("Host: localhost\r\n".to_owned(), "101"),
        (format!("Host: evil.example:{port}\r\n"), "403"),
        ("Host: localhost.evil.example\r\n".to_owned(), "403"),
        ("Host: localhost\r\nHost: evil.example\r\n".to_owned(), "403"),
        ("Accept: */*\r\n".to_owned(), "403"),
        (format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n"), "403"),
        (format!("Host: localhost:{port}\r\nOrigin: null\r\n"), "403"),
    ] {
        assert_eq!(upgrade(connect(port), &lines), status, "{lines}");
    }
}

#[test]
fn a_path_without_a_session_is_not_found() {
    let place = Place::new();
    let served = place.serve(&[]);
    for (line, status) in [
        ("GET /mcp", "404"),
        ("POST /mcp/", "404"),
        ("POST /mcp/dev/more", "404"),
        ("POST /mcp/none", "404"),
        ("GET /", "400"),
    ] {
        let mut stream = connect(served.port());
        write!(stream, "{line} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("an answer");
        assert_eq!(&head[9..], status.as_bytes(), "{line}");
    }
}

#[test]
fn it_listens_on_both_loopback_addresses() {
    let place = Place::new();
    let served = place.serve(&[]);
    let address = SocketAddr::from((Ipv6Addr::LOCALHOST, served.port()));
    // A machine without IPv6 has no such address at all.
    if std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        let stream = TcpStream::connect(address).expect("connected");
        assert_eq!(upgrade(stream, "Host: localhost\r\n"), "101");
    }
}

#[test]
fn the_sixty_fifth_that_says_nothing_ends_the_oldest() {
    let place = Place::new();
    let served = place.serve(&[]);
    let mut waiting: Vec<TcpStream> = (0..64).map(|_| connect(served.port())).collect();
    // The last of them is served, so all are in.
    assert_eq!(upgrade(waiting.pop().expect("one"), "Host: localhost\r\n"), "101");
    let mut oldest = waiting.remove(0);
    let (_one, _two) = (connect(served.port()), connect(served.port()));
    let read = oldest.read(&mut [0; 1]);
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    assert!(!read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
}

#[test]
fn who_says_nothing_is_ended_after_ten_seconds() {
    let place = Place::new();
    let served = place.serve(&[]);
    let began = std::time::Instant::now();
    let mut stream = connect(served.port());
    assert_eq!(stream.read(&mut [0; 1]).expect("its end"), 0);
    assert!(began.elapsed() >= Duration::from_secs(9), "{:?}", began.elapsed());
}
