internal import FoundationEssentials
internal import HTTPTypes
package import Tidegate

extension TaskSubmission {
    /// The request of the submission.
    ///
    /// - Throws: ``TextError`` that names the invalid member.
    package func request() throws(TextError) -> TaskRequest {
        // With an unset variable as the key, every submission would be the same task.
        if self.key == "" { throw TextError("\"key\" is empty") }
        if self.conditional == true, self.output == nil { throw TextError("\"conditional\" requires \"output\"") }
        try self.checkLengths()
        let method = self.body != nil || self.bodyBase64 != nil ? "POST" : self.bodyFile != nil ? "PUT" : "GET"
        do {
            var request = try TaskRequest(
                url: self.url, method: self.method ?? method,
                headers: try (self.headers ?? []).map { try HTTPField(line: $0) },
                body: try self.requestBody())
            request.options.name = self.name
            request.destination = try self.destination()
            request.options.priority = self.priority ?? 0
            request.options.isMarkedIdempotent = self.idempotent ?? false
            request.options.deadline = try self.seconds(self.deadlineSeconds, "deadlineSeconds")
            request.options.gate = try self.gate()
            request.options.sha256 = try self.digest()
            request.options.redirects = try self.redirectPolicy()
            request.options.allowsPrivateRedirects = self.allowPrivateRedirects
            request.options.acceptsCompression = self.compressed ?? false
            request.options.usesValidators = self.conditional ?? false
            request.options.usesCookies = self.cookies ?? false
            request.options.proxy = try self.proxyPolicy()
            request.options.tls = try self.trustPolicy()
            if let retries = self.retries { request.options.retry = try self.retryPolicy(retries) }
            return request
        } catch {
            throw TextError("\(error)")
        }
    }

    /// Sends a form, whose bytes are kept with the task; its content type replaces any other.
    ///
    /// - Throws: A sentence about a file that cannot be read, or about a form that is too large.
    package mutating func send(_ form: MultipartForm) throws {
        self.bodyBase64 = Data(try form.encoded(atMost: TaskSubmission.maxBodyBytes)).base64EncodedString()
        let others = (self.headers ?? []).filter { !$0.lowercased().hasPrefix("content-type:") }
        self.headers = others + ["Content-Type: \(form.contentType)"]
    }

    func duplicatePolicy() throws(TextError) -> DuplicatePolicy {
        guard let word = self.onDuplicate else { return .keep }
        guard self.key != nil else { throw TextError("\"onDuplicate\" requires \"key\"") }
        return try DuplicatePolicy(word: word)
    }

    // Every list contains keys and names, and an accepted task is kept until it is over. The system would truncate a
    // path at a NUL.
    private func checkLengths() throws(TextError) {
        let lengths: [(String, Int?, Int)] = [
            ("key", self.key?.utf8.count, 1024), ("name", self.name?.utf8.count, 1024),
            ("url", self.url.utf8.count, 8192), ("method", self.method?.utf8.count, 32),
            ("headers", self.headers?.reduce(0) { $0 + $1.utf8.count }, 65_536),
            // PATH_MAX minus the final NUL.
            ("output", self.output?.utf8.count, 4095), ("bodyFile", self.bodyFile?.utf8.count, 4095),
            ("caFile", self.caFile?.utf8.count, 4095), ("proxy", self.proxy?.utf8.count, 8192),
            ("pins", self.pins?.reduce(0) { $0 + $1.utf8.count }, 8192),
        ]
        for (member, count, maximum) in lengths {
            guard let count, count > maximum else { continue }
            throw TextError("\"\(member)\" is \(count) bytes long (maximum \(maximum))")
        }
        let files = [("output", self.output), ("bodyFile", self.bodyFile), ("caFile", self.caFile)]
        for (member, text) in files where text?.contains("\0") == true {
            throw TextError("\"\(member)\" contains a NUL character")
        }
    }

    private func requestBody() throws(TextError) -> RequestBody {
        let bodies = [("body", self.body), ("bodyBase64", self.bodyBase64), ("bodyFile", self.bodyFile)]
            .filter { $0.1 != nil }.map(\.0)
        if bodies.count > 1 { throw TextError("\"\(bodies[0])\" and \"\(bodies[1])\" are mutually exclusive") }
        if let text = self.bodyBase64 {
            guard let data = Data(base64Encoded: text) else { throw TextError("\"bodyBase64\" is not Base64") }
            return .data(Array(data))
        }
        return self.body.map { .data(Array($0.utf8)) } ?? self.bodyFile.map { .file($0) } ?? .none
    }

    private func destination() throws(TextError) -> Destination {
        guard let output = self.output else {
            if self.mode != nil { throw TextError("\"mode\" requires \"output\"") }
            return .discard
        }
        guard let text = self.mode else { return .file(output) }
        return .file(output, permissions: try FileModeText.parse(text))
    }

    private func digest() throws(TextError) -> ContentDigest? {
        guard let text = self.sha256 else { return nil }
        do { return try ContentDigest(parsing: text) } catch { throw TextError("\"sha256\": \(error)") }
    }

    private func proxyPolicy() throws(TextError) -> ProxyPolicy? {
        guard let text = self.proxy else { return nil }
        do { _ = try Proxy(text) } catch { throw TextError("\"proxy\": \(error)") }
        return ProxyPolicy(text)
    }

    private func trustPolicy() throws -> ServerTrustPolicy? {
        guard self.pins != nil || self.caFile != nil else { return nil }
        let policy = ServerTrustPolicy(caFile: self.caFile, pins: self.pins.map { ["*": $0] } ?? [:])
        try policy.validate()
        return policy
    }

    private func gate() throws -> GatePolicy? {
        guard self.require != nil || self.patienceSeconds != nil else { return nil }
        return GatePolicy(
            require: try (self.require ?? ["routed"]).map(RequirementText.parse),
            patience: try self.seconds(self.patienceSeconds, "patienceSeconds"))
    }

    private func redirectPolicy() throws(TextError) -> RedirectPolicy? {
        guard let word = self.redirects else { return nil }
        do { return try RedirectPolicy(word: word) } catch { throw TextError("\"redirects\": \(error)") }
    }

    private func retryPolicy(_ retries: Int) throws -> RetryPolicy {
        guard (0..<10_000).contains(retries) else {
            throw TextError("\"retries\": \(retries) is out of range (0 to 9999)")
        }
        return RetryPolicy(attempts: retries + 1)
    }

    private func seconds(_ number: Double?, _ member: String) throws(TextError) -> Duration? {
        guard let number else { return nil }
        guard number > 0, number <= 1e9 else {
            throw TextError("\"\(member)\": \(number) is out of range (greater than 0, at most 1e9)")
        }
        return .seconds(number)
    }
}
