internal import TidegateCore
internal import TidegateSession
internal import TidegateTransfer

/// A probe over HTTP: one request on a new connection, and one more for each redirect.
struct HTTPProbe: Sendable {
    let options: HTTPProbeOptions
    let environment: ProbeEnvironment
    let policy: ProbeTargetPolicy
    let deadline: MonotonicTime

    func run(_ text: String, _ findings: inout ProbeFindings) async {
        findings.declare(
            .httpContentLength, .httpBodyLength, .httpRedirects, .httpTLS, .httpStatus, .httpVersion,
            .failedDueToRegex)
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
        HTTPProbeRecorder(probe: self, exchanges: exchanges).record(&findings)
    }

    /// The URL that may be asked about from here: not one behind a proxy, and none of whose addresses is denied.
    func explainedURL(of text: String) async -> HTTPURL? {
        guard let url = try? HTTPURL(self.completed(text)), self.options.proxy.proxy(for: url) == nil,
            case .success(let addresses) = await self.environment.addresses(of: url.target.host, within: .seconds(1)),
            addresses.allSatisfy({ self.policy.refusal(of: url.target.host, at: $0) == nil })
        else { return nil }
        return url
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
    func address(of host: String, _ findings: inout ProbeFindings) async -> ProbeAddress? {
        let finder = ProbeAddressFinder(environment: self.environment, preference: self.options.family)
        let address = await finder.address(of: host, until: self.deadline, &findings)
        findings.add(.httpDuration, findings.value(of: .lookupTime), labels: [PhaseDurations.Phase.resolve.label])
        guard let address else { return nil }
        guard let refusal = self.policy.refusal(of: host, at: address.address) else { return address }
        findings.fail(.targetDenied, .mine, refusal)
        return nil
    }
}
