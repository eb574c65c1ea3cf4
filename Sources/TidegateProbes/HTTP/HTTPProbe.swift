internal import HTTPTypes
internal import TidegateCEL
internal import TidegateCore
internal import TidegateSession
internal import TidegateTransfer

/// A probe over HTTP: one request on a new connection, and another for each redirect.
struct HTTPProbe: TargetProbe {
    let options: HTTPProbeOptions
    let context: ProbeContext

    var environment: ProbeEnvironment { self.context.environment }
    var source: ProbeSource { self.options.source }

    func run(_ text: String, _ findings: inout ProbeFindings) async throws(ProbeProblem) {
        findings.declare(
            .httpContentLength, .httpBodyLength, .httpRedirects, .httpTLS, .httpStatus, .httpVersion,
            .failedDueToRegex)
        if self.options.examinesJSON { findings.declare(.failedDueToCEL) }
        let url = try ProbeProblem.catching(.invalidTarget) { try HTTPURL(self.completed(text)) }
        let body = try ProbeProblem.catching(.fileError) { try self.body() }
        var exchanges = HTTPProbeExchanges(probe: self, first: url, body: body)
        do { try await exchanges.run(&findings) } catch { findings.fail(error) }
        await exchanges.record(&findings)
        for exchange in exchanges.all { exchange.body?.release() }
    }

    /// The URL, unless it is reached through a proxy.
    func subject(of text: String, at address: IPAddress, redirectedTo port: UInt16?) -> ProbeSubject? {
        guard let url = try? HTTPURL(self.completed(text)), self.options.proxy.proxy(for: url) == nil else {
            return nil
        }
        // A diagnosis does not cover another way out.
        return self.source.isBound ? nil : .address(address, port: port ?? url.target.port)
    }

    // A target may lack a scheme and have spaces.
    private func completed(_ text: String) -> String {
        let text = text.contains(" ") ? text.replacing(" ", with: "%20") : text
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
}

// Decides whether a response is a success.
extension HTTPProbe {
    /// The maximum size of a decoded document, counting values and member names.
    private static let mostNodes = 250_000

    /// Checks in blackbox_exporter's order; the first failed check is the reason.
    ///
    /// Without a `body` it could not be read, which breaks every condition about it.
    func check(_ head: ResponseHead, body: [UInt8]?, isEncrypted: Bool, _ findings: inout ProbeFindings) async {
        let expected = self.options.validStatuses
        var isGood =
            self.options.acceptsAnyStatus
            || (expected.isEmpty ? (200..<300).contains(head.status) : expected.contains(head.status))
        if !isGood {
            let wanted = expected.isEmpty ? "2xx" : expected.map(String.init).joined(separator: ", ")
            findings.fail(.status, Self.party(of: head.status), "\(head.status), expected \(wanted)")
        }
        if isGood, let problem = self.headerProblem(head) {
            isGood = false
            self.fail(.header, problem, &findings)
        }
        if let body {
            if findings.failure == nil { self.checkBody(body, &findings) }
            if findings.failure == nil, self.options.examinesJSON { await self.checkJSON(body, &findings) }
        } else if isGood, self.options.matchesBody {
            findings.set(.failedDueToRegex, 1)
        } else if isGood, self.options.examinesJSON {
            findings.set(.failedDueToCEL, 1)
        }
        let version = head.version == "2" ? "HTTP/2.0" : "HTTP/\(head.version)"
        if !self.options.validVersions.isEmpty, !self.options.validVersions.contains(version) {
            findings.fail(
                .version, .theirs,
                "the server speaks \(version), not \(self.options.validVersions.joined(separator: " or "))")
        }
        if isEncrypted, self.options.failsIfTLS { findings.fail(.tls, .theirs, "the last request was over TLS") }
        if !isEncrypted, self.options.failsIfNotTLS {
            findings.fail(.noTls, .theirs, "the last request was not over TLS")
        }
    }

    // A module's request does not change, so a failure means that the target has changed, unless it requires
    // credentials.
    private static func party(of status: Int) -> FaultParty { [401, 407].contains(status) ? .mine : .theirs }

    private func headerProblem(_ head: ResponseHead) -> String? {
        let fields = head.fields
        for (conditions, isBad, verb) in [
            (self.options.failsIfHeaderMatches, true, "matches"),
            (self.options.failsIfHeaderDoesNotMatch, false, "does not match"),
        ] {
            for condition in conditions {
                let values = fields.filter { $0.name == condition.name }.map(\.value)
                if values.isEmpty, condition.allowsMissing { continue }
                guard !values.isEmpty else { return "the answer has no field \(condition.name)" }
                guard values.contains(where: { condition.pattern.matches(Array($0.utf8)) }) == isBad else { continue }
                return "\(condition.name) \(verb) \"\(condition.pattern.pattern)\""
            }
        }
        return nil
    }

    private func checkBody(_ body: [UInt8], _ findings: inout ProbeFindings) {
        for expression in self.options.failsIfBodyMatches where expression.matches(body) {
            return self.fail(.body, "the body matches \"\(expression.pattern)\"", &findings)
        }
        for expression in self.options.failsIfBodyDoesNotMatch where !expression.matches(body) {
            return self.fail(.body, "the body does not match \"\(expression.pattern)\"", &findings)
        }
    }

    private func checkJSON(_ body: [UInt8], _ findings: inout ProbeFindings) async {
        let (context, turn) = (self.context, self.context.documents.open(most: 1))
        defer { context.documents.close(turn) }
        guard await context.documents.take(1, for: turn, within: context.remaining, call: context.environment.call)
        else {
            return findings.fail(
                .noMemory, .mine, "the documents of other probes, decoded one at a time, took until the timeout")
        }
        let isLate = { context.remaining == .zero }
        do {
            let document = try JSONValue(parsing: body, mostNodes: Self.mostNodes)
            if let expression = self.options.failsIfJSONMatches,
                try expression.isTrue(of: document, isCancelled: isLate)
            {
                findings.fail(.body, .theirs, "the body matches the expression \"\(expression.text)\"")
            } else if let expression = self.options.failsIfJSONDoesNotMatch,
                !(try expression.isTrue(of: document, isCancelled: isLate))
            {
                findings.fail(.body, .theirs, "the body does not match the expression \"\(expression.text)\"")
            }
        } catch let error as CELError {
            // Evaluation that takes too long would take too long for any body of that size.
            let party = error.isUnfinished ? FaultParty.mine : .theirs
            findings.fail(.body, party, "the expression about the body has no value: \(error)")
        } catch {
            findings.fail(.body, .theirs, "the body is \(error)")
        }
        if findings.failure != nil { findings.set(.failedDueToCEL, 1) }
    }

    private func fail(_ reason: ProbeFailureReason, _ text: String, _ findings: inout ProbeFindings) {
        findings.set(.failedDueToRegex, 1)
        findings.fail(reason, .theirs, text)
    }
}
