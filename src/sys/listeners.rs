//! Programs of this machine that take connections.

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Does a program listen on a port of the loopback?
pub fn listens_on_port(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).or_else(|_| TcpStream::connect(("::1", port))).is_ok()
}

/// Does a program listen on a socket?
pub fn listens_on_socket(path: &Path) -> bool {
    UnixStream::connect(path).is_ok()
}
