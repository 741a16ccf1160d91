//! System calls that no namespace and no Landlock rule confines: the kernel's keys, which a
//! session of the human shares with all that it starts, and sockets of other networks than IP's,
//! of which AF_VSOCK reaches the machine around a virtual one.
//!
//! Invariant: these calls fail as on a kernel that does not have them. Everything else is allowed.

/// A way to call the kernel: each has its own numbers.
struct Abi {
    /// The kernel's name of it, `AUDIT_ARCH_…`.
    audit: u32,
    /// `add_key`, `request_key`, `keyctl`.
    keys: [u32; 3],
    socket: u32,
    /// The old call for everything about sockets, whose arguments lie in memory.
    socketcall: Option<u32>,
}

const ABIS: [Abi; 5] = [
    // x86-64, and x32, whose numbers have one more bit.
    Abi { audit: 0xC000_003E, keys: [248, 249, 250], socket: 41, socketcall: None },
    // i386.
    Abi { audit: 0x4000_0003, keys: [286, 287, 288], socket: 359, socketcall: Some(102) },
    // AArch64.
    Abi { audit: 0xC000_00B7, keys: [217, 218, 219], socket: 198, socketcall: None },
    // ARM.
    Abi { audit: 0x4000_0028, keys: [309, 310, 311], socket: 281, socketcall: Some(102) },
    // RISC-V, 64 bits.
    Abi { audit: 0xC000_00F3, keys: [217, 218, 219], socket: 198, socketcall: None },
];
/// AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET: all of them belong to a network namespace.
const FAMILIES: [u32; 5] = [1, 2, 10, 16, 17];
/// The operation of `socketcall` that makes a socket.
const SOCKET: u32 = 1;
/// The bit that x32 adds to a number, taken away.
const NUMBER: u32 = !0x4000_0000;

const ALLOW: u32 = 0x7FFF_0000;
const ERROR: u32 = 0x0005_0000;
/// ENOSYS.
const NO_CALL: u32 = ERROR | 38;
/// EAFNOSUPPORT.
const NO_FAMILY: u32 = ERROR | 97;
/// Where the kernel shows the call's number, its ABI, and the low half of its first argument.
const AT_NUMBER: u32 = 0;
const AT_ABI: u32 = 4;
const AT_ARGUMENT: u32 = if cfg!(target_endian = "big") { 20 } else { 16 };

/// One instruction of the kernel's filters, `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    code: u16,
    if_equal: u8,
    if_not: u8,
    value: u32,
}

/// Loads 32 bits of the call.
const fn load(at: u32) -> Step {
    Step { code: 0x20, if_equal: 0, if_not: 0, value: at }
}

const fn and(mask: u32) -> Step {
    Step { code: 0x54, if_equal: 0, if_not: 0, value: mask }
}

/// Skips this many steps if what was loaded is another value.
const fn unless(value: u32, skipped: u8) -> Step {
    Step { code: 0x15, if_equal: 0, if_not: skipped, value }
}

const fn end(action: u32) -> Step {
    Step { code: 0x06, if_equal: 0, if_not: 0, value: action }
}

fn steps() -> Vec<Step> {
    let mut all = vec![load(AT_ABI)];
    for abi in &ABIS {
        let mut steps = vec![load(AT_NUMBER), and(NUMBER)];
        steps.extend(abi.keys.iter().flat_map(|key| [unless(*key, 1), end(NO_CALL)]));
        if let Some(call) = abi.socketcall {
            let operation = [load(AT_ARGUMENT), unless(SOCKET, 1), end(NO_FAMILY), end(ALLOW)];
            steps.push(unless(call, 4));
            steps.extend(operation);
        }
        let families = FAMILIES.iter().flat_map(|family| [unless(*family, 1), end(ALLOW)]);
        // Everything but `socket` is allowed: of equal values this step skips none, the next one.
        steps.push(Step { if_equal: 1, ..unless(abi.socket, 0) });
        steps.extend([end(ALLOW), load(AT_ARGUMENT)]);
        steps.extend(families);
        steps.push(end(NO_FAMILY));
        all.push(unless(abi.audit, u8::try_from(steps.len()).unwrap_or(u8::MAX)));
        all.extend(steps);
    }
    all.push(end(ALLOW));
    all
}

/// The filter as bubblewrap reads it.
pub(super) fn bytes() -> Vec<u8> {
    let bytes = |step: Step| {
        let [c, d] = step.code.to_ne_bytes();
        let [e, f, g, h] = step.value.to_ne_bytes();
        [c, d, step.if_equal, step.if_not, e, f, g, h]
    };
    steps().into_iter().flat_map(bytes).collect()
}

/// Puts the filter on this process, which can gain no privileges any more, and on what it starts.
#[cfg(target_os = "linux")]
pub(super) fn enforce() -> std::io::Result<()> {
    let step =
        |it: Step| libc::sock_filter { code: it.code, jt: it.if_equal, jf: it.if_not, k: it.value };
    let mut steps: Vec<_> = steps().into_iter().map(step).collect();
    let length = u16::try_from(steps.len()).map_err(std::io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: steps.as_mut_ptr() };
    #[expect(unsafe_code, reason = "no library that we use makes this call")]
    // SAFETY: the kernel reads the program, which lives until the call returns.
    let done = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The filter's decision about a call.
    fn verdict(audit: u32, number: u32, argument: u32) -> u32 {
        let steps = steps();
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = steps[at];
            at += 1;
            match (step.code, step.value) {
                (0x20, AT_ABI) => loaded = audit,
                (0x20, AT_NUMBER) => loaded = number,
                (0x20, AT_ARGUMENT) => loaded = argument,
                (0x54, mask) => loaded &= mask,
                (0x15, value) => {
                    at += usize::from(if loaded == value { step.if_equal } else { step.if_not });
                }
                (0x06, action) => return action,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn keys_and_foreign_networks_are_refused_in_every_abi_and_all_else_is_allowed() {
        for Abi { audit, keys, socket, socketcall } in ABIS {
            for key in keys {
                assert_eq!(verdict(audit, key, 0), NO_CALL);
            }
            for family in [1, 2, 10, 16, 17] {
                assert_eq!(verdict(audit, socket, family), ALLOW);
            }
            for family in [0, 5, 31, 38, 40, 44] {
                assert_eq!(verdict(audit, socket, family), NO_FAMILY);
            }
            if let Some(call) = socketcall {
                assert_eq!(verdict(audit, call, 1), NO_FAMILY);
                assert_eq!(verdict(audit, call, 3), ALLOW);
            }
            for number in [0, 1, 59, 322, 435] {
                assert_eq!(verdict(audit, number, 40), ALLOW);
            }
        }
        // x32.
        assert_eq!(verdict(ABIS[0].audit, 0x4000_0000 | 250, 0), NO_CALL);
        assert_eq!(verdict(ABIS[0].audit, 0x4000_0000 | 41, 40), NO_FAMILY);
        assert_eq!(verdict(7, 250, 0), ALLOW, "another machine");
    }
}
