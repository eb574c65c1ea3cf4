internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// A probe over WebSocket (RFC 6455): a connection, its upgrade, and what is said on it.
struct WebSocketProbe: TargetProbe {
    let options: WebSocketProbeOptions
    let context: ProbeContext

    func run(_ text: String, _ findings: inout ProbeFindings) async {
        findings.declare(
            .webSocketStatus, .webSocketUpgraded, .webSocketFailedDueToRegex, .lookupTime, .addressFamily, .addressHash)
        let url: HTTPURL
        do throws(TextError) { url = try Self.url(text) } catch {
            return findings.fail(.invalidTarget, .mine, error.description)
        }
        let address = await self.context.address(of: url.target, preferring: self.options.family, &findings)
        findings.set(.webSocketDuration, findings.value(of: .lookupTime), labels: ["resolve"])
        guard let address, let fields = await self.fields(&findings) else { return }
        do throws(TextError) {
            let client =
                url.scheme == .https ? try TLSClient(self.options.tls, host: url.target.host) : nil
            let session = WebSocketSession(options: self.options, context: self.context, url: url, address: address)
            await session.run(fields, client, &findings)
        } catch {
            findings.fail(.fileError, .mine, error.description)
        }
    }

    func subject(of text: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? {
        .address(address, port: (try? Self.url(text))?.target.port)
    }

    // RFC 6455 3, as the request that the handshake is.
    private static func url(_ text: String) throws(TextError) -> HTTPURL {
        let start = text.prefix(6).lowercased()
        guard start.hasPrefix("ws://") || start == "wss://", let colon = text.firstIndex(of: ":") else {
            throw TextError("\"\(text)\" does not begin with ws:// or wss://")
        }
        let url: HTTPURL
        do throws(HTTPURLError) {
            url = try HTTPURL((start == "wss://" ? "https" : "http") + text[colon...])
        } catch {
            throw TextError("\(error)")
        }
        guard url.userInfo == nil else { throw TextError("the URL has a user; the module's basic_auth is for that") }
        return url
    }

    // The module's fields of the request; nil if there are none that can be sent, which `findings` then say.
    private func fields(_ findings: inout ProbeFindings) async -> [HTTPField]? {
        var fields: [HTTPField]
        do throws(TextError) {
            fields = try self.options.secretHeaders.map { header throws(TextError) in try header.field() }
            guard !fields.contains(where: { $0.name == .authorization }) else { return fields }
            if let field = try self.options.authorization?.field() { return fields + [field] }
        } catch {
            findings.fail(.fileError, .mine, error.description)
            return nil
        }
        guard let oauth2 = self.options.oauth2, let url = oauth2.tokenURL else { return fields }
        do throws(AccessTokenError) {
            fields.append(try await AccessTokenRequest(options: oauth2, url: url, context: self.context).field())
            findings.note("Received an access token")
            return fields
        } catch {
            findings.fail(error.reason, .unknown, error.text)
            return nil
        }
    }
}
