internal import TidegateCore
internal import TidegateTransfer
internal import HTTPTypes

/// The credentials that a task sends to an origin or to the proxy.
struct Authorization: Sendable {
    fileprivate enum Method: Sendable {
        /// The same value every time.
        case fixed(String)
        case digest(DigestAnswer)
    }

    let isProxy: Bool
    let origin: Origin
    fileprivate var method: Method

    /// Creates the credentials from an answer; nil if they fit none of the offered schemes.
    init?(_ answer: AuthenticationAnswer, to challenge: AuthenticationChallenge, of origin: Origin, nonce: String) {
        self.isProxy = challenge.isProxy
        self.origin = origin
        switch answer {
        case .refuse, .cancel: return nil
        case .bearer(let token):
            guard HTTPField.isValidValue(token) else { return nil }
            self.method = .fixed("Bearer \(token)")
        case .credentials(let credentials):
            if let digest = DigestAnswer(credentials, challenge.schemes, clientNonce: nonce) {
                self.method = .digest(digest)
            } else if challenge.schemes.contains(where: { $0.name == "basic" }) {
                self.method = .fixed(credentials.basicAuthorization)
            } else {
                return nil
            }
        }
    }

    /// True if they belong to this origin, or to the proxy.
    func isFor(_ origin: Origin, isProxy: Bool) -> Bool {
        self.isProxy == isProxy && (isProxy || self.origin == origin)
    }

    /// The field value for one request.
    mutating func value(method: String, path: String) -> String {
        switch self.method {
        case .fixed(let value): return value
        case .digest(var digest):
            defer { self.method = .digest(digest) }
            return digest.value(method: method, path: path)
        }
    }
}

/// The credentials that hooks gave for one task, and their challenges.
final class AuthenticationState {
    private var authorizations: [Authorization] = []
    private var knownRealms: Set<String> = []
    private var renewals = 0

    /// True if a hook has provided credentials: they replace the request's own.
    var isGiven: Bool { !self.authorizations.isEmpty }

    /// True for the first occurrence of this challenge, for which a hook is called.
    func isNew(_ challenge: AuthenticationChallenge) -> Bool {
        self.knownRealms.insert("\(challenge.origin) \(challenge.realm)").inserted
    }

    /// Takes a newer nonce if the server reports that only the nonce was stale; false otherwise.
    func renew(for origin: Origin, by challenge: AuthenticationChallenge, nonce: @autoclosure () -> String) -> Bool {
        guard self.renewals < 3,
            let index = self.authorizations.firstIndex(where: { $0.isFor(origin, isProxy: challenge.isProxy) }),
            case .digest(let digest) = self.authorizations[index].method,
            let newer = digest.renewed(by: challenge.schemes, clientNonce: nonce())
        else { return false }
        self.renewals += 1
        self.authorizations[index].method = .digest(newer)
        return true
    }

    /// Replaces older credentials.
    func set(_ authorization: Authorization, for origin: Origin) {
        self.authorizations.removeAll { $0.isFor(origin, isProxy: authorization.isProxy) }
        self.authorizations.append(authorization)
    }

    /// The fields for a hop's origin and the proxy.
    func fields(for hop: Hop) -> [HTTPField] {
        let url = hop.url
        return self.authorizations.indices.compactMap { index in
            let authorization = self.authorizations[index]
            guard authorization.isProxy ? url.scheme == .http : authorization.origin == url.origin else { return nil }
            return HTTPField(
                name: authorization.isProxy ? .proxyAuthorization : .authorization,
                value: self.authorizations[index].value(
                    method: hop.method, path: authorization.isProxy ? url.text : url.requestTarget))
        }
    }
}

/// Answers for HTTP Digest authentication (RFC 7616), with MD5 or SHA-256 and the protection `auth` or none.
struct DigestAnswer: Sendable {
    private enum Algorithm: String, Sendable, CaseIterable {
        case sha256 = "sha-256", sha256Session = "sha-256-sess", md5 = "md5", md5Session = "md5-sess"

        var isSession: Bool { self == .sha256Session || self == .md5Session }

        func sum(_ text: String) -> String {
            switch self {
            case .md5, .md5Session: MessageDigest.md5(Array(text.utf8)).hexadecimal
            case .sha256, .sha256Session: MessageDigest.sha256(Array(text.utf8)).hexadecimal
            }
        }
    }

    private let credentials: Credentials
    private let algorithm: Algorithm
    private let parameters: [String: String]
    private let clientNonce: String
    private var count: UInt32 = 0

    /// An answer to the strongest offered variant; nil if none is supported.
    init?(_ credentials: Credentials, _ schemes: [AuthenticationChallenge.Scheme], clientNonce: String) {
        let offers = schemes.filter { $0.name == "digest" && $0.parameters["nonce"] != nil }
        for algorithm in Algorithm.allCases {
            for offer in offers where (offer.parameters["algorithm"] ?? "MD5").lowercased() == algorithm.rawValue {
                let protections = offer.parameters["qop"]?.split { ", ".contains($0) }
                guard protections?.contains("auth") ?? true else { continue }
                self.credentials = credentials
                self.algorithm = algorithm
                self.parameters = offer.parameters
                self.clientNonce = clientNonce
                return
            }
        }
        return nil
    }

    func renewed(by schemes: [AuthenticationChallenge.Scheme], clientNonce: String) -> DigestAnswer? {
        let stale = schemes.filter { $0.parameters["stale"]?.lowercased() == "true" }
        guard let newer = DigestAnswer(self.credentials, stale, clientNonce: clientNonce),
            newer.parameters["nonce"] != self.parameters["nonce"]
        else { return nil }
        return newer
    }

    mutating func value(method: String, path: String) -> String {
        self.count += 1
        let count = String(self.count, radix: 16).padded(to: 8)
        let (realm, nonce) = (self.parameters["realm"] ?? "", self.parameters["nonce"] ?? "")
        var first = self.algorithm.sum("\(self.credentials.user):\(realm):\(self.credentials.password)")
        if self.algorithm.isSession { first = self.algorithm.sum("\(first):\(nonce):\(self.clientNonce)") }
        let second = self.algorithm.sum("\(method):\(path)")
        let isProtected = self.parameters["qop"] != nil
        let middle = isProtected ? "\(nonce):\(count):\(self.clientNonce):auth" : nonce
        var text = "Digest username=\(DigestAnswer.quoted(self.credentials.user)), realm=\(DigestAnswer.quoted(realm))"
        text += ", nonce=\(DigestAnswer.quoted(nonce)), uri=\(DigestAnswer.quoted(path))"
        text += ", response=\"\(self.algorithm.sum("\(first):\(middle):\(second)"))\""
        if let name = self.parameters["algorithm"] { text += ", algorithm=\(name)" }
        if let opaque = self.parameters["opaque"] { text += ", opaque=\(DigestAnswer.quoted(opaque))" }
        if isProtected || self.algorithm.isSession { text += ", cnonce=\"\(self.clientNonce)\"" }
        if isProtected { text += ", qop=auth, nc=\(count)" }
        return text
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] } + "\""
    }
}
