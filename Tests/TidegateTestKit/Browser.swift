internal import Foundation

/// A headless browser, driven over the WebDriver protocol (W3C) by Debian's chromedriver.
package final class Browser: Sendable {
    /// The driver or the browser reported an error.
    package struct Failure: Error, CustomStringConvertible {
        /// The request and the error.
        package let description: String
    }

    /// The logs of the browser.
    package enum Log: String, Sendable {
        /// The console: warnings, errors and policy violations.
        case console = "browser"
        /// The events of the developer tools, each as JSON.
        case protocolEvents = "performance"
    }

    private let driver: Program
    private let session: String
    private let profile: URL

    /// True if Chromium and its driver are installed.
    package static let isInstalled = ["/usr/bin/chromium", "/usr/bin/chromedriver"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private init(driver: Program, session: String, profile: URL) {
        self.driver = driver
        self.session = session
        self.profile = profile
    }

    /// Starts a driver and a browser; the caller has to close it.
    package static func open() async throws -> Browser {
        // With port 0 it takes one that is free for IPv6 only.
        let port = try FreePort.find()
        let driver = try Program(["chromedriver", "--port=\(port)"])
        guard await eventually({ driver.outputSoFar.contains("successfully on port ") }) else {
            throw Failure(description: "no driver: \(driver.outputSoFar) \(driver.errorsSoFar)")
        }
        let profile = FileManager.default.temporaryDirectory.appendingPathComponent("browser-\(UUID().uuidString)")
        let arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
            "--window-size=1280,1000", "--user-data-dir=\(profile.path)",
        ]
        let options: [String: Any] = [
            "goog:chromeOptions": ["binary": "/usr/bin/chromium", "args": arguments],
            "goog:loggingPrefs": ["browser": "ALL", "performance": "ALL"],
        ]
        let base = "http://127.0.0.1:\(port)/session"
        let answer = try await self.ask("POST", base, ["capabilities": ["alwaysMatch": options]])
        guard let id = (answer as? [String: Any])?["sessionId"] as? String else {
            driver.signal(SIGTERM)
            throw Failure(description: "no session: \(answer)")
        }
        return Browser(driver: driver, session: "\(base)/\(id)", profile: profile)
    }

    /// Ends the browser and its driver.
    package func close() async {
        _ = try? await Browser.ask("DELETE", self.session, [:])
        self.driver.signal(SIGTERM)
        _ = await self.driver.finish(within: .seconds(10))
        try? FileManager.default.removeItem(at: self.profile)
    }

    /// Loads a page.
    package func go(_ url: String) async throws { _ = try await self.ask("POST", "url", ["url": url]) }

    /// Runs a script's body in the page, and returns its value as text.
    package func text(_ script: String) async throws -> String {
        let value = try await self.ask("POST", "execute/sync", ["script": "return String(\(script))", "args": [Any]()])
        return value as? String ?? ""
    }

    /// True if the expression becomes true within the limit.
    package func shows(_ expression: String, within limit: Duration = .seconds(10)) async throws -> Bool {
        try await eventually(within: limit) { try await self.text(expression) == "true" }
    }

    /// Sends a command of the developer tools' protocol; `parameters` is a JSON object.
    package func command(_ name: String, _ parameters: String) async throws {
        let object = try JSONSerialization.jsonObject(with: Data(parameters.utf8))
        _ = try await self.ask("POST", "goog/cdp/execute", ["cmd": name, "params": object])
    }

    /// Presses the tabulator key.
    package func pressTabulator() async throws {
        let presses = ["keyDown", "keyUp"].map { ["type": $0, "value": "\u{E004}"] }
        let keyboard: [String: Any] = ["type": "key", "id": "keyboard", "actions": presses]
        _ = try await self.ask("POST", "actions", ["actions": [keyboard]])
    }

    /// The entries of a log since it was last read.
    package func read(_ log: Log) async throws -> [String] {
        let entries = try await self.ask("POST", "se/log", ["type": log.rawValue]) as? [[String: Any]] ?? []
        return entries.compactMap { $0["message"] as? String }
    }

    /// The URLs requested since the log was last read.
    package func requestedURLs() async throws -> [String] {
        try await self.read(.protocolEvents).compactMap { text in
            let entry = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            let message = entry?["message"] as? [String: Any]
            guard message?["method"] as? String == "Network.requestWillBeSent" else { return nil }
            let request = (message?["params"] as? [String: Any])?["request"] as? [String: Any]
            return request?["url"] as? String
        }
    }

    /// A screenshot of the page as PNG.
    package func picture() async throws -> [UInt8] {
        let text = try await Browser.ask("GET", "\(self.session)/screenshot", nil) as? String ?? ""
        return Data(base64Encoded: text).map { Array($0) } ?? []
    }

    private func ask(_ method: String, _ path: String, _ body: [String: Any]) async throws -> Any {
        try await Browser.ask(method, "\(self.session)/\(path)", body)
    }

    private static func ask(_ method: String, _ url: String, _ body: [String: Any]?) async throws -> Any {
        var arguments = ["curl", "-sS", "-m", "60", "-X", method, url]
        if let body {
            let text = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
            arguments += ["-H", "Content-Type: application/json", "--data-raw", text]
        }
        let output = try await Program.run(arguments, limit: .seconds(70))
        let answer = try? JSONSerialization.jsonObject(with: Data(output.output.utf8)) as? [String: Any]
        guard let value = answer?["value"] else {
            throw Failure(description: "\(method) \(url): \(output.output) \(output.errors)")
        }
        if let error = (value as? [String: Any])?["error"] { throw Failure(description: "\(method) \(url): \(error)") }
        return value
    }
}
