//! Sends a response piece by piece.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::mpsc;

use super::script::{How, Wait};

/// A piece of a response.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    Bytes(String),
    Wait(Wait),
    Cut(How),
}

/// The response that these frames are.
pub(super) fn stream(frames: Vec<Frame>, chunk: usize) -> Response {
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(1);
    tokio::spawn(send(frames, chunk, sender));
    let body = stream::unfold(receiver, async |mut receiver| {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    });
    Response::builder()
        .header("content-type", "text/event-stream")
        .header("request-id", "req_test")
        .body(Body::from_stream(body))
        .expect("a response")
}

/// Sends until the client has gone.
async fn send(frames: Vec<Frame>, chunk: usize, sender: mpsc::Sender<io::Result<Bytes>>) {
    for frame in frames {
        match frame {
            Frame::Bytes(text) => {
                for bytes in text.as_bytes().chunks(chunk) {
                    if sender.send(Ok(Bytes::copy_from_slice(bytes))).await.is_err() {
                        return;
                    }
                }
            }
            Frame::Wait(Wait::For(time)) => tokio::time::sleep(time).await,
            Frame::Wait(Wait::Until(gate)) => gate.wait().await,
            Frame::Cut(How::Cleanly) => return,
            Frame::Cut(How::ByReset) => {
                // What was sent should be read before the reset overtakes it.
                tokio::time::sleep(Duration::from_millis(50)).await;
                let _gone = sender.send(Err(io::ErrorKind::ConnectionReset.into())).await;
                return;
            }
        }
    }
}
