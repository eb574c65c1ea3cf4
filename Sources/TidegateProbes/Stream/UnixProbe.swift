internal import NIOCore
internal import TidegateCore

/// A probe over a Unix socket, whose path the target is.
///
/// No address is involved, so that ``ProbeTargetPolicy`` has nothing to say; only a module with this prober opens paths.
struct UnixProbe: TargetProbe {
    let options: StreamProbeOptions
    let context: ProbeContext

    func run(_ path: String, _ findings: inout ProbeFindings) async {
        findings.declare(.failedDueToRegex, .failedDueToBytes)
        let address: SocketAddress
        do {
            address = try SocketAddress(unixDomainSocketPath: path)
        } catch {
            return findings.fail(.invalidTarget, .mine, "the path is longer than a socket's may be (unix(7))")
        }
        let session = StreamSession(
            options: self.options, context: self.context, metric: .unixDuration, host: nil, peer: .unix(address))
        await session.run(&findings)
    }

    func subject(of target: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? { nil }
}
