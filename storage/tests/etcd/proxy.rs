//! A line between a store and etcd that can be cut.

use parking_lot::Mutex;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

/// Forwards connections from its own port to another, unless it is cut: then it hangs up on everybody.
pub(crate) struct Proxy {
    port: u16,
    line: Arc<Mutex<Line>>,
}

struct Line {
    open: bool,
    ended: bool,
    streams: Vec<TcpStream>,
}

impl Proxy {
    /// `to` is a URL without a path.
    pub(crate) fn to(to: &str) -> Self {
        let to = to.split_once("://").expect("a URL").1.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let line = Arc::new(Mutex::new(Line { open: true, ended: false, streams: Vec::new() }));
        let shared = line.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if shared.lock().ended {
                    return;
                }
                // Whoever fails here hangs up on its peer, which is what a failing line does.
                let _ = shared.lock().connect(near, &to);
            }
        });
        Self { port, line }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn cut(&self) {
        let mut line = self.line.lock();
        line.open = false;
        for stream in line.streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn mend(&self) {
        self.line.lock().open = true;
    }
}

impl Line {
    fn connect(&mut self, near: TcpStream, to: &str) -> io::Result<()> {
        if !self.open {
            return Ok(());
        }
        let far = TcpStream::connect(to)?;
        forward(near.try_clone()?, far.try_clone()?);
        forward(far.try_clone()?, near.try_clone()?);
        self.streams.extend([near, far]);
        Ok(())
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.line.lock().ended = true;
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}
