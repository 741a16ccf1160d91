use std::process::Command;

#[test]
fn counts_the_words_of_a_file() {
    let path = std::env::temp_dir().join(format!("words-{}.txt", std::process::id()));
    std::fs::write(&path, "one two three").expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_words"))
        .arg(&path)
        .output()
        .expect("run");
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "3\n");
}

#[test]
fn a_server_on_loopback_answers() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("port");
    let address = listener.local_addr().expect("address");
    let client = std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(address).expect("connected");
        stream.write_all(b"ping").expect("written");
    });
    let mut said = String::new();
    listener
        .accept()
        .expect("accepted")
        .0
        .read_to_string(&mut said)
        .expect("read");
    client.join().expect("joined");
    assert_eq!(said, "ping");
}
