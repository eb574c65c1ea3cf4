internal import HTTPTypes
internal import Tidegate
internal import TidegateCore

extension ScheduledTask {
    /// The request of one run; the headers file is read now, so that a rotated secret is sent.
    ///
    /// - Throws: ``TextError`` with the file or the value that cannot be used.
    func request(under transfers: Configuration.Transfers) throws(TextError) -> TaskRequest {
        let method = self.method ?? (self.bodyFile == nil ? "GET" : "POST")
        let fields = try self.allHeaders()
        do {
            var request = try TaskRequest(
                url: self.url, method: method, headers: fields, body: self.bodyFile.map { .file($0) } ?? .none)
            request.name = self.name
            request.destination =
                self.download.map { .file($0, permissions: self.mode, continues: true) } ?? .discard
            request.attemptTimeout = self.timeout?.duration
            request.sha256 = self.sha256.flatMap { ContentDigest($0) }
            request.retry = try self.retryPolicy(under: transfers)
            request.gate = try self.gatePolicy(under: transfers)
            return request
        } catch {
            throw TextError("\(error)")
        }
    }

    private func allHeaders() throws(TextError) -> [HTTPField] {
        guard let file = self.headersFile else { return self.headers }
        let text: String
        do {
            text = try TextFile.read(file, atMost: 1 << 16)
        } catch {
            throw TextError("\(file): \(error)")
        }
        var headers = self.headers
        for line in text.split(whereSeparator: \.isNewline) where !line.allSatisfy(\.isWhitespace) && line.first != "#"
        {
            headers.append(try HTTPField(line: String(line)))
        }
        return headers
    }

    // The timeout does not include time without a path: such a run is held, and the next run is skipped.
    private func retryPolicy(under transfers: Configuration.Transfers) throws(PolicyError) -> RetryPolicy {
        var retry = self.retry.over(transfers.retry)
        if let timeout = self.timeout?.duration {
            retry.longest = DurationText(min(timeout, retry.longest.map { $0.duration ?? timeout } ?? timeout))
        }
        return try retry.policy()
    }

    private func gatePolicy(under transfers: Configuration.Transfers) throws(PolicyError) -> GatePolicy {
        try GatePolicy(
            require: self.require ?? transfers.gate.require ?? [.routed], patience: transfers.gate.patience?.duration)
    }
}

extension Configuration.Retry {
    /// The policy, with the session's defaults for values that are nil.
    func policy() throws(PolicyError) -> RetryPolicy {
        let standard = RetryPolicy.standard
        let base = self.base ?? min(standard.base, self.cap ?? standard.base)
        return try RetryPolicy(
            attempts: self.attempts ?? standard.attempts, base: base, cap: self.cap ?? max(standard.cap, base),
            maxElapsed: self.longest.map(\.duration) ?? standard.maxElapsed,
            statuses: self.statuses.map(Set.init) ?? standard.statuses)
    }
}
