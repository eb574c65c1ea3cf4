internal import TidegateCore

/// A probe over TCP: a connection, TLS if the module asks for it, and what is said on it.
struct TCPProbe: TargetProbe {
    let options: StreamProbeOptions
    let context: ProbeContext

    var source: ProbeSource { self.options.source }

    func run(_ text: String, _ findings: inout ProbeFindings) async {
        findings.declare(
            .failedDueToRegex, .failedDueToBytes, .lookupTime, .addressFamily, .addressHash)
        let target: Target
        do throws(TargetError) { target = try Target(text) } catch {
            return findings.fail(.invalidTarget, .mine, "\(error)")
        }
        guard let port = target.port else {
            return findings.fail(.invalidTarget, .mine, "\(text) names no port; give HOST:PORT")
        }
        guard
            let address = await self.context.address(
                of: target, preferring: self.options.family, from: self.source, &findings)
        else { return }
        findings.add(.tcpDuration, address.lookupTime.inSeconds, labels: ["resolve"])
        let session = StreamSession(
            options: self.options, context: self.context, metric: .tcpDuration, host: target.host,
            peer: .tcp(address, port: port))
        await session.run(&findings)
    }

    /// The port, if it may be asked about; a diagnosis of another way out would say nothing of this one.
    func subject(of text: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? {
        self.source.isBound ? nil : .address(address, port: (try? Target(text))?.port)
    }
}
