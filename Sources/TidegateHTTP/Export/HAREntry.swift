internal import FoundationEssentials
internal import TidegateCore
internal import TidegateSession

/// One entry of an archive, as specified by HAR 1.2 (w3c.github.io/web-performance, HAR/Overview).
struct HAREntry {
    let exchange: Exchange
    let redaction: SecretRedaction
    let requestBody: RequestBody
    let responseBody: [UInt8]?

    let request: MessageHead?
    let response: MessageHead?

    var json: JSONValue {
        let timings = HARTimings(self.exchange.summary)
        let remote = self.exchange.summary?.remote
        let members: [JSONValue.Member?] = [
            .init("startedDateTime", .string(self.exchange.started.description)), .init("time", .number(timings.total)),
            .init("request", self.requestJSON), .init("response", self.responseJSON), .init("cache", .object([])),
            .init("timings", timings.json), remote.map { .init("serverIPAddress", .string($0.description)) },
            .init("comment", .string(self.comment)),
        ]
        return .object(members.compactMap(\.self))
    }

    private var comment: String {
        var comment = ["attempt \(self.exchange.number)"]
        if self.exchange.summary == nil {
            // Otherwise it is still running, or its own data is all that is kept.
            let isOver = self.exchange.status != nil || self.exchange.failure != nil
            comment += isOver ? self.exchange.lines.map(\.text) : ["under way"]
        }
        if let failure = self.exchange.failure { comment.append("\(failure)") }
        return comment.joined(separator: ": ")
    }

    // MARK: - Request

    private var requestJSON: JSONValue {
        let url = PercentEncoding.uri(self.redaction.url(self.exchange.url))
        let members: [JSONValue.Member?] = [
            .init("method", .string(self.exchange.method)), .init("url", .string(url)),
            .init("httpVersion", .string(self.request?.version ?? "")),
            .init("cookies", self.cookies(self.request, "cookie")), .init("headers", self.headers(self.request)),
            .init("queryString", HAREntry.query(of: url)), self.postData.map { .init("postData", $0) },
            .init("headersSize", .integer(Int64(self.request?.size ?? -1))),
            .init("bodySize", self.exchange.summary.map { .integer($0.sent) } ?? -1),
        ]
        return .object(members.compactMap(\.self))
    }

    private var postData: JSONValue? {
        guard self.exchange.hasBody else { return nil }
        let type = JSONValue.string(self.request?.first("content-type") ?? "application/octet-stream")
        switch self.requestBody {
        case .data(let bytes):
            guard self.redaction.isOn || String(validating: bytes, as: UTF8.self) != nil else {
                let text = Data(bytes).base64EncodedString()
                return ["mimeType": type, "text": .string(text), "comment": "the text is the body in Base64"]
            }
            let text = String(decoding: bytes, as: UTF8.self)
            return ["mimeType": type, "text": .string(self.redaction.body(text))]
        case .file(let path):
            return ["mimeType": type, "text": "", "comment": .string("the body was the file \(path)")]
        case .stream, .none:
            guard let form = self.requestBody.form else {
                return ["mimeType": type, "text": "", "comment": "the body is not kept"]
            }
            return ["mimeType": type, "params": .array(form.parts.map { $0.json(self.redaction) })]
        }
    }

    private static func query(of url: String) -> JSONValue {
        let query = url.drop { $0 != "?" && $0 != "#" }.prefix { $0 != "#" }
        let parts = query.dropFirst().split(separator: "&").map { part -> JSONValue in
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { side in
                let text = String(side.map { $0 == "+" ? " " : $0 })
                return HTTPURL.percentDecoded(text)
            }
            return ["name": .string(sides[0]), "value": .string(sides.count > 1 ? sides[1] : "")]
        }
        return .array(parts)
    }

    // MARK: - Response

    private var responseJSON: JSONValue {
        let summary = self.exchange.summary
        let type = self.response?.first("content-type") ?? "x-unknown"
        let location = self.response?.first("location").map { self.redaction.url($0) }
        let isRedirect = (300..<400).contains(self.exchange.status ?? 0)
        return [
            "status": .integer(Int64(self.exchange.status ?? self.response?.status ?? 0)),
            "statusText": .string(self.response?.reason ?? ""),
            "httpVersion": .string(self.response?.version ?? ""),
            "cookies": self.cookies(self.response, "set-cookie"), "headers": self.headers(self.response),
            "content": self.content(type), "redirectURL": .string(isRedirect ? location ?? "" : ""),
            "headersSize": .integer(Int64(self.response?.size ?? -1)),
            "bodySize": self.response == nil ? -1 : .integer(summary?.receivedWire ?? -1),
        ]
    }

    private func content(_ type: String) -> JSONValue {
        let size = self.responseBody.map { Int64($0.count) } ?? self.exchange.summary?.receivedWire ?? 0
        let content: JSONValue = ["size": .integer(size), "mimeType": .string(type)]
        guard let body = self.responseBody, !body.isEmpty else { return content }
        if self.redaction.isOn { return content.adding(.init("text", .string(Secrets.mark))) }
        if let text = String(validating: body, as: UTF8.self) { return content.adding(.init("text", .string(text))) }
        return content.adding(.init("text", .string(Data(body).base64EncodedString())))
            .adding(.init("encoding", "base64"))
    }

    // MARK: - Fields

    private func headers(_ head: MessageHead?) -> JSONValue {
        let fields = head?.fields ?? []
        return .array(
            fields.map { name, value in
                ["name": .string(name), "value": .string(self.redaction.value(value, of: name))]
            })
    }

    // Cookie has all cookies in one field; Set-Cookie has one cookie per field, followed by attributes.
    private func cookies(_ head: MessageHead?, _ name: String) -> JSONValue {
        let values = (head?.fields ?? []).filter { $0.name.lowercased() == name }.map(\.value)
        let pairs = values.flatMap { value in
            let parts = value.split(separator: ";")
            return name == "cookie" ? parts : Array(parts.prefix(1))
        }
        return .array(
            pairs.compactMap { pair in
                let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let cookie = sides[0].drop { $0 == " " }
                guard sides.count == 2, !cookie.isEmpty else { return nil }
                let value = self.redaction.isOn ? Secrets.mark : String(sides[1])
                return ["name": .string(String(cookie)), "value": .string(value)]
            })
    }
}

/// The durations of an exchange's phases in milliseconds; -1 if unknown or not applicable.
struct HARTimings {
    /// The sum of the known phases; the handshake is part of `connect`.
    let total: Double
    let json: JSONValue

    init(_ summary: AttemptSummary?) {
        let phases = summary?.phases
        let tls = phases?.tls ?? .zero
        let dns = HARTimings.milliseconds(phases?.resolve)
        // From the first SYN to the established connection, including the TLS handshake.
        let connect = HARTimings.milliseconds(phases?.connect.map { $0 + tls })
        let receive = HARTimings.milliseconds(phases?.transfer)
        // A request without a body is a single write.
        let send = HARTimings.milliseconds(phases?.sending ?? phases?.processing.map { _ in .zero })
        let wait = HARTimings.milliseconds(phases?.processing.map { max(.zero, $0 - (phases?.sending ?? .zero)) })
        let known = [dns, connect, send, wait, receive].map { max(0, $0) }
        // The rest was spent in queues of this program; unknown for an attempt without a response.
        let isAnswered = wait >= 0 && receive >= 0
        let blocked = isAnswered ? max(0, HARTimings.milliseconds(summary?.duration) - known.reduce(0, +)) : -1
        self.total = known.reduce(max(0, blocked), +)
        self.json = [
            "blocked": .number(blocked), "dns": .number(dns), "connect": .number(connect),
            "ssl": .number(HARTimings.milliseconds(phases?.tls)), "send": .number(send), "wait": .number(wait),
            "receive": .number(receive),
        ]
    }

    // Rounded to microseconds.
    private static func milliseconds(_ duration: Duration?) -> Double {
        duration.map { ($0.inSeconds * 1_000_000).rounded() / 1000 } ?? -1
    }
}

extension MultipartForm.Part {
    /// The part in the format of `params` in HAR 1.2's `postData`.
    fileprivate func json(_ redaction: SecretRedaction) -> JSONValue {
        var members: [JSONValue.Member] = [.init("name", .string(self.name ?? ""))]
        switch self.content {
        case .data(let bytes):
            if redaction.isOn {
                members.append(.init("value", .string(Secrets.mark)))
            } else if let value = String(validating: bytes, as: UTF8.self) {
                members.append(.init("value", .string(value)))
            } else {
                members.append(.init("value", .string(Data(bytes).base64EncodedString())))
                members.append(.init("comment", "the value is in Base64"))
            }
        case .file(let path): members.append(.init("comment", .string("the content was the file \(path)")))
        case .stream: members.append(.init("comment", "the content is not kept"))
        }
        if let fileName { members.append(.init("fileName", .string(fileName))) }
        if let contentType { members.append(.init("contentType", .string(contentType))) }
        return .object(members)
    }
}
