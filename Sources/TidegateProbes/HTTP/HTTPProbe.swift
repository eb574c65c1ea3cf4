internal import TidegateCore
internal import TidegateSession
internal import TidegateTransfer

/// A probe over HTTP: one request on a new connection, and one more for each redirect.
struct HTTPProbe: TargetProbe {
    let options: HTTPProbeOptions
    let context: ProbeContext

    var environment: ProbeEnvironment { self.context.environment }
    var source: ProbeSource { self.options.source }

    func run(_ text: String, _ findings: inout ProbeFindings) async {
        findings.declare(
            .httpContentLength, .httpBodyLength, .httpRedirects, .httpTLS, .httpStatus, .httpVersion,
            .failedDueToRegex)
        if self.options.examinesJSON { findings.declare(.failedDueToCEL) }
        let url: HTTPURL
        let body: AttemptBody
        do {
            url = try HTTPURL(self.completed(text))
            body = try self.body()
        } catch let error as HTTPURLError {
            return findings.fail(.invalidTarget, .mine, "\(error)")
        } catch {
            return findings.fail(.fileError, .mine, "\(error)")
        }
        var exchanges = HTTPProbeExchanges(probe: self, url: url, body: body)
        await exchanges.run(&findings)
        await exchanges.record(&findings)
        for exchange in exchanges.all { exchange.body?.release() }
    }

    /// The URL, if it is not behind a proxy.
    func subject(of text: String, at address: IPAddress, redirectedTo port: UInt16?) -> ProbeSubject? {
        guard let url = try? HTTPURL(self.completed(text)), self.options.proxy.proxy(for: url) == nil else {
            return nil
        }
        // A diagnosis of another way out would say nothing of this one.
        return self.source.isBound ? nil : .address(address, port: port ?? url.target.port)
    }

    // A scheme may be left out.
    private func completed(_ text: String) -> String {
        let start = text.prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://") ? text : "http://\(text)"
    }

    private func body() throws(TextError) -> AttemptBody {
        switch self.options.body {
        case nil: .none
        case .text(let text): .bytes(Array(text.utf8))
        case .file(let path): .bytes(try ProbeFile.read(path))
        }
    }

    /// The address of a target, with what is wrong with it in `findings`; nil if it is not to be asked.
    func address(of url: HTTPURL, isProxied: Bool, _ findings: inout ProbeFindings) async -> ProbeAddress? {
        let address = await self.context.address(
            of: url.target, preferring: self.options.family, from: self.source, isProxied: isProxied, &findings)
        findings.add(.httpDuration, findings.value(of: .lookupTime), labels: [PhaseDurations.Phase.resolve.label])
        return address
    }
}
