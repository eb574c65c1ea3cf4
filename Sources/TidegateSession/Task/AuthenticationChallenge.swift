public import TidegateCore
internal import HTTPTypes

/// A request for credentials from a server or a proxy (RFC 9110 11).
public struct AuthenticationChallenge: Sendable, Hashable {
    /// One accepted authentication scheme.
    public struct Scheme: Sendable, Hashable {
        /// The scheme's name in lower case: `basic`, `digest`, `bearer` or another one.
        public let name: String
        /// The parameters, with names in lower case and values without quotes.
        public let parameters: [String: String]

        /// The purpose of the credentials, in the server's words; empty if not given.
        public var realm: String { self.parameters["realm"] ?? "" }

        /// Parses the values of `WWW-Authenticate` or `Proxy-Authenticate` fields; malformed parts are left out.
        static func parse(_ fields: [String]) -> [Scheme] {
            fields.flatMap { ChallengeReader(rest: $0[...]).schemes() }
        }
    }

    /// `SCHEME://HOST:PORT` of the server or the proxy.
    public let origin: String
    /// True if the proxy requests the credentials.
    public let isProxy: Bool
    /// The accepted schemes, in the server's order.
    public let schemes: [Scheme]

    /// The purpose of the credentials: the first named realm.
    public var realm: String { self.schemes.first { !$0.realm.isEmpty }?.realm ?? "" }
}

/// The answer to a challenge.
public enum AuthenticationAnswer: Sendable, Hashable {
    /// Send no credentials: the status is the task's result.
    case refuse
    /// Cancel the task.
    case cancel
    /// Use a name and a password: by Digest (RFC 7616) if the server offers a supported variant, otherwise by Basic
    /// (RFC 7617), otherwise not at all.
    case credentials(Credentials)
    /// Use a token (RFC 6750).
    case bearer(String)
}

/// Parses one field's list of challenges: `Digest realm="a, b", qop="auth", Basic realm="c"`.
private struct ChallengeReader {
    var rest: Substring

    func schemes() -> [AuthenticationChallenge.Scheme] {
        var reader = self
        var found: [(name: String, parameters: [String: String])] = []
        while let word = reader.token() {
            if reader.take("="), !found.isEmpty {
                guard let value = reader.value() else { break }
                found[found.count - 1].parameters[word.lowercased()] = value
            } else {
                found.append((word.lowercased(), [:]))
            }
        }
        return found.map { AuthenticationChallenge.Scheme(name: $0.name, parameters: $0.parameters) }
    }

    private mutating func token() -> String? {
        self.rest = self.rest.drop { " \t,".contains($0) }
        let word = self.rest.prefix { !" \t,=\"".contains($0) }
        self.rest = self.rest.dropFirst(word.count)
        return HTTPField.Name(String(word)) != nil ? String(word) : nil
    }

    private mutating func take(_ mark: Character) -> Bool {
        let next = self.rest.drop { $0 == " " || $0 == "\t" }
        guard next.first == mark else { return false }
        self.rest = next.dropFirst()
        return true
    }

    private mutating func value() -> String? {
        guard self.take("\"") else { return self.token() }
        var text = ""
        while let letter = self.rest.popFirst() {
            if letter == "\"" { return text }
            if letter == "\\", let next = self.rest.popFirst() { text.append(next) } else { text.append(letter) }
        }
        return nil
    }
}
