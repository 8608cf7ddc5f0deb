//! SOCKS5 (RFC 1928): `CONNECT` without authentication, by name or by address.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::time::timeout;

use super::connect::Trouble;
use super::{Gate, HEAD_LIMIT};

/// The version, and with it the first byte of every connection.
pub(super) const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;

/// What a request is answered with.
#[derive(Clone, Copy)]
enum Answer {
    Done = 0,
    Failed = 1,
    NotAllowed = 2,
    HostUnreachable = 4,
    NoSuchCommand = 7,
    NoSuchAddress = 8,
}

/// Serves one connection.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send>(
    gate: &Gate,
    mut stream: BufReader<S>,
) {
    let Ok(Ok(asked)) = timeout(HEAD_LIMIT, read(&mut stream)).await else { return };
    let opened = match asked {
        Ok((host, port)) => gate.open(&host, port).await.map_err(|trouble| match trouble {
            Trouble::Refused(_) => Answer::NotAllowed,
            Trouble::Unknown(_) | Trouble::Unreachable(_) => Answer::HostUnreachable,
        }),
        Err(answer) => Err(answer),
    };
    let answer = opened.as_ref().err().copied().unwrap_or(Answer::Done);
    if reply(&mut stream, answer).await.is_ok()
        && let Ok(opened) = opened
    {
        gate.tunnel(stream, opened).await;
    }
}

/// The host and the port that are asked for, or what to answer where nothing can be.
async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufReader<S>,
) -> io::Result<Result<(String, u16), Answer>> {
    let [_, methods] = array(stream).await?;
    let mut offered = vec![0; usize::from(methods)];
    stream.read_exact(&mut offered).await?;
    let is_offered = offered.contains(&NO_AUTHENTICATION);
    let method = if is_offered { NO_AUTHENTICATION } else { NO_METHOD };
    stream.write_all(&[VERSION, method]).await?;
    stream.flush().await?;
    if !is_offered {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let [version, command, _, kind] = array(stream).await?;
    if version != VERSION {
        return Ok(Err(Answer::Failed));
    }
    let host = match kind {
        1 => Ipv4Addr::from(array::<4, _>(stream).await?).to_string(),
        4 => Ipv6Addr::from(array::<16, _>(stream).await?).to_string(),
        3 => {
            let [length] = array(stream).await?;
            let mut name = vec![0; usize::from(length)];
            stream.read_exact(&mut name).await?;
            // What is no text is no host, and is refused as such.
            String::from_utf8_lossy(&name).into_owned()
        }
        _ => return Ok(Err(Answer::NoSuchAddress)),
    };
    let port = u16::from_be_bytes(array(stream).await?);
    Ok(if command == CONNECT { Ok((host, port)) } else { Err(Answer::NoSuchCommand) })
}

async fn array<const N: usize, S: AsyncRead + Unpin>(
    stream: &mut BufReader<S>,
) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// The answer; the address in it says nothing, and no client needs it.
async fn reply<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufReader<S>,
    answer: Answer,
) -> io::Result<()> {
    stream.write_all(&[VERSION, answer as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    stream.flush().await
}
