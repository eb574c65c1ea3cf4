extension TaskResult: CustomStringConvertible {
    /// What happened, in one line: `GET https://example.com/: success, status 200, 1256 bytes, 1 attempt, 0.12 s`.
    public var description: String {
        var parts = [self.outcome.rawValue]
        if let status = self.status { parts.append("status \(status)") }
        parts.append("\(self.bytes) bytes")
        parts.append(self.attempts == 1 ? "1 attempt" : "\(self.attempts) attempts")
        parts.append("\((self.duration.inSeconds * 100).rounded() / 100) s")
        if let explanation = self.explanation { parts.append(explanation) }
        return "\(self.method) \(self.url): " + parts.joined(separator: ", ")
    }
}

extension TaskResult {
    /// What went each way: `1.5 MiB`, or with a request body `5.0 MiB sent, 12 B received`.
    package var volume: String {
        guard self.sentBytes > 0 else { return ByteText(self.bytes).description }
        return "\(ByteText(self.sentBytes)) sent, \(ByteText(self.bytes)) received"
    }
}
