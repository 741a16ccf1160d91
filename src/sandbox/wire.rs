//! Frames between the runner, a call's client and the sandbox's server: byte strings, and file
//! descriptors that travel with them.
//!
//! Invariant: a frame arrives whole or not at all. This file does not interpret frames.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Longest frame, in bytes: a command of some megabytes and a large environment fit.
const LONGEST: usize = 64 << 20;
/// Most file descriptors that travel with a frame.
const MOST_FDS: usize = 4;
/// A connection that is gone is an error and no signal; elsewhere Rust sees to that.
#[cfg(target_os = "linux")]
const SEND: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const SEND: SendFlags = SendFlags::empty();
/// Child processes do not inherit received descriptors.
#[cfg(target_os = "linux")]
const RECEIVE: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const RECEIVE: RecvFlags = RecvFlags::empty();

/// One message.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) fields: Vec<OsString>,
    pub(super) fds: Vec<OwnedFd>,
}

impl Frame {
    /// The field at `index`, as text; empty if it is missing or not UTF-8.
    pub(super) fn text(&self, index: usize) -> &str {
        self.fields.get(index).and_then(|field| field.to_str()).unwrap_or_default()
    }
}

/// Sends a frame.
///
/// # Errors
/// If the other side is gone, or the frame is too long.
pub(super) fn send<S: AsRef<OsStr>>(
    stream: &UnixStream,
    fields: impl IntoIterator<Item = S>,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    for field in fields {
        let field = field.as_ref().as_bytes();
        bytes.extend(length(field.len())?);
        bytes.extend(field);
    }
    let body = length(bytes.len() - 4)?;
    bytes[..4].copy_from_slice(&body);

    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "too many file descriptors"));
    }
    let sent = loop {
        match sendmsg(stream, &[IoSlice::new(&bytes)], &mut control, SEND) {
            Err(rustix::io::Errno::INTR) => {}
            sent => break sent?,
        }
    };
    (&mut &*stream).write_all(&bytes[sent..])
}

/// Receives a frame; none if the other side closed the connection.
///
/// # Errors
/// If the connection broke in the middle of a frame, or the data is not a frame.
pub(super) fn receive(stream: &UnixStream) -> io::Result<Option<Frame>> {
    let mut header = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let read = loop {
        let mut slices = [IoSliceMut::new(&mut header)];
        match recvmsg(stream, &mut slices, &mut control, RECEIVE) {
            Err(rustix::io::Errno::INTR) => {}
            read => break read?.bytes,
        }
    };
    if read == 0 {
        return Ok(None);
    }
    let mut frame = Frame::default();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            frame.fds.extend(fds);
            // Where the kernel does not, a child started right now may inherit them.
            frame.fds.iter().try_for_each(|fd| fcntl_setfd(fd, FdFlags::CLOEXEC))?;
        }
    }
    let mut stream = stream;
    stream.read_exact(&mut header[read..])?;
    let length = usize::try_from(u32::from_le_bytes(header)).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(too_long());
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let mut rest = body.as_slice();
    while !rest.is_empty() {
        let field = take(&mut rest).ok_or_else(|| io::Error::from(ErrorKind::InvalidData))?;
        frame.fields.push(OsString::from_vec(field.to_vec()));
    }
    Ok(Some(frame))
}

/// Takes one field off the front.
fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (field, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(field)
}

fn length(length: usize) -> io::Result<[u8; 4]> {
    match u32::try_from(length) {
        Ok(short) if length <= LONGEST => Ok(short.to_le_bytes()),
        _ => Err(too_long()),
    }
}

fn too_long() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the frame is too long")
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn fields_and_file_descriptors_arrive_as_they_were_sent() {
        let (here, there) = UnixStream::pair().expect("pair");
        let large = OsString::from_vec(vec![b'x'; 3 << 20]);
        let odd = OsString::from_vec(vec![0xff, b'\n', 0]);
        let fields = [OsString::from("run"), OsString::new(), large, odd];
        let sent = fields.clone();
        let sender = std::thread::spawn(move || {
            send(&here, &sent, &[here.as_fd(), std::io::stdin().as_fd()]).expect("sent");
        });
        let frame = receive(&there).expect("received").expect("a frame");
        sender.join().expect("sender");
        assert_eq!(frame.fields, fields);
        assert_eq!(frame.fds.len(), 2);
        drop(frame);
        assert!(receive(&there).expect("closed").is_none(), "the descriptors were not closed");
    }

    #[test]
    fn an_end_in_the_middle_of_a_frame_is_an_error_and_one_before_it_is_an_end() {
        let (mut here, there) = UnixStream::pair().expect("pair");
        here.write_all(&[9, 0, 0, 0, 1]).expect("written");
        drop(here);
        assert_eq!(receive(&there).expect_err("half").kind(), ErrorKind::UnexpectedEof);
        let (here, there) = UnixStream::pair().expect("pair");
        drop(here);
        assert!(receive(&there).expect("closed").is_none());
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        for bytes in [[255; 8].as_slice(), &[8, 0, 0, 0, 9, 0, 0, 0, 1, 1, 1, 1]] {
            let (mut here, there) = UnixStream::pair().expect("pair");
            here.write_all(bytes).expect("written");
            assert_eq!(receive(&there).expect_err("refused").kind(), ErrorKind::InvalidData);
        }
    }
}
