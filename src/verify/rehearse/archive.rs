//! An archive with one empty member.

use std::path::Path;

/// A block of a `tar` file.
const BLOCK: usize = 512;

/// The archive that a path names, if it is one.
pub(super) fn archive(path: &Path, member: &str) -> Option<Vec<u8>> {
    let name = path.file_name()?.to_str()?;
    if name.ends_with(".tar") {
        Some(tar(member))
    } else if name.ends_with(".tar.gz") || name.ends_with(".tgz") {
        Some(gzip(&tar(member)))
    } else {
        let zipped = ["zip", "jar", "whl", "war"];
        path.extension()
            .is_some_and(|it| zipped.iter().any(|kind| it == *kind))
            .then(|| zip(member))
    }
}

/// A line of shell that makes an archive with one empty member, or with none.
pub(super) fn makes_archive(path: &Path, member: &str) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let zip = if name.ends_with("gz") { "z" } else { "" };
    let (path, member) = (path.display(), member.trim_matches('/'));
    let is_plain = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    if name.ends_with(".zip") || name.ends_with(".jar") {
        return Some(format!("printf 'PK\\005\\006' > {path}; head -c 18 /dev/zero >> {path}"));
    }
    if name.ends_with(".gz") && !name.ends_with(".tar.gz") {
        return Some(format!("gzip -c /dev/null > {path}"));
    }
    if ![".tar", ".tar.gz", ".tgz"].iter().any(|end| name.ends_with(end)) {
        return None;
    }
    if member.is_empty() || member.starts_with('-') || !member.chars().all(is_plain) {
        return Some(format!("tar -c{zip}f {path} --files-from /dev/null"));
    }
    Some(format!(
        "at=$(mktemp -d); mkdir -p $at/$(dirname {member}); : > $at/{member}; tar -c{zip}f {path} -C $at {member}"
    ))
}

fn tar(member: &str) -> Vec<u8> {
    let mut header = vec![0; BLOCK];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, &member.as_bytes()[..member.len().min(100)]);
    put(100, b"0000755\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, b"00000000000\0");
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header.resize(3 * BLOCK, 0);
    header
}

/// Stored, not compressed.
fn gzip(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap_or(u16::MAX);
    let mut found = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    found.extend(length.to_le_bytes());
    found.extend((!length).to_le_bytes());
    found.extend(data);
    found.extend(crc(data).to_le_bytes());
    found.extend(u32::from(length).to_le_bytes());
    found
}

fn zip(member: &str) -> Vec<u8> {
    let length = u16::try_from(member.len()).unwrap_or_default();
    let common = |found: &mut Vec<u8>| {
        found.extend([0x14, 0, 0, 0, 0, 0, 0, 0, 0x21, 0]);
        found.extend([0; 12]);
        found.extend(length.to_le_bytes());
        found.extend([0, 0]);
    };
    let mut found = b"PK\x03\x04".to_vec();
    common(&mut found);
    found.extend(member.as_bytes());
    let at = u32::try_from(found.len()).unwrap_or_default();
    found.extend(b"PK\x01\x02\x14\0");
    common(&mut found);
    found.extend([0; 14]);
    found.extend(member.as_bytes());
    let size = u32::try_from(found.len()).unwrap_or_default() - at;
    found.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    found.extend(size.to_le_bytes());
    found.extend(at.to_le_bytes());
    found.extend([0, 0]);
    found
}

fn crc(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 }
        })
    })
}
