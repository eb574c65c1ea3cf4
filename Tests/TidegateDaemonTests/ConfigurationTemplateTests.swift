import Foundation
import Testing
import Tidegate
import TidegateServer
import TidegateStore

@testable import TidegateDaemon

/// What `tidegate generate config` prints.
@Suite struct ConfigurationTemplateTests {
    /// The keys of the schema with their texts, by path.
    private static func keys(_ fields: [FieldText], below path: String = "") -> [(path: String, text: FieldText)] {
        fields.flatMap { field -> [(String, FieldText)] in
            let own = path.isEmpty ? field.key : "\(path).\(field.key)"
            switch field.content {
            case .value: return [(own, field)]
            case .section(let inner), .sections(let inner): return [(own, field)] + self.keys(inner, below: own)
            }
        }
    }

    private static let all = keys(ConfigurationSchema.root.compactMap(\.text))

    @Test("The file is the one in Golden, byte for byte")
    func golden() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Golden/tidegate.yml")
        #expect(ConfigurationTemplate.text == (try String(contentsOf: file, encoding: .utf8)))
    }

    @Test("The reference page is up to date")
    func reference() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/configuration.md")
        guard ProcessInfo.processInfo.environment["TIDEGATE_WRITE_CONFIGURATION"] == nil else {
            return try ConfigurationReference.text.write(to: file, atomically: true, encoding: .utf8)
        }
        let written = try String(contentsOf: file, encoding: .utf8)
        #expect(written == ConfigurationReference.text, "write it again: \(ConfigurationReference.command)")
    }

    @Test("Every key that has a value has a sentence, and stands in the file with its default")
    func complete() {
        #expect(Self.all.count > 60)
        let lines = ConfigurationTemplate.text.split(separator: "\n").map { $0.trimmingPrefix { " #-".contains($0) } }
        for (path, text) in Self.all {
            if case .value = text.content {
                #expect(text.sentence.hasSuffix(".") || path.hasPrefix("tasks.retry."), "\(path) has no sentence")
                #expect(lines.contains("\(text.key): \(text.standard)"), "\(path)")
            }
        }
    }

    @Test("The file is valid, and means what no file means")
    func defaults() throws {
        let written = try Configuration.parse(ConfigurationTemplate.text, file: "t.yml")
        let (own, standard) = (
            try written.monitorConfiguration(version: "1"), try Configuration().monitorConfiguration(version: "1")
        )
        #expect(own.reachability.sentinels == standard.reachability.sentinels)
        #expect(own.reachability.excludedInterfaces == standard.reachability.excludedInterfaces)
        #expect(own.reachability.meteredInterfaces == standard.reachability.meteredInterfaces)
        #expect(own.reachability.internetCheck == standard.reachability.internetCheck)
        #expect(own.reachability.targets.isEmpty && own.reachability.mark == nil && own.reachability.uid == nil)
        #expect(own.session.retry == standard.session.retry && own.session.budget == standard.session.budget)
        #expect(own.session.gate == standard.session.gate && own.session.proxy == standard.session.proxy)
        #expect(own.session.maxConnections == standard.session.maxConnections)
        #expect(own.session.maxConnectionsPerHost == standard.session.maxConnectionsPerHost)
        #expect(own.session.redaction == standard.session.redaction && own.hostLabel == standard.hostLabel)
        #expect(own.connections == standard.connections && own.connections.isEnabled)
        #expect(written.scheduledProbes.isEmpty)
        #expect(written.tasks.isEmpty && written.events.history == EndpointConfiguration().eventHistory)
        #expect(written.journal == Configuration().journal)
        #expect(written.journal.retention == Journal.Retention())
        let writer = RemoteWriteConfiguration(url: "http://a/", directory: "/")
        #expect(written.remoteWrite.url == nil && written.remoteWrite.bound == writer.bound)
        #expect(written.remoteWrite.interval == writer.interval)
        #expect(written.metrics.maxHosts == Configuration().metrics.maxHosts)
    }

    @Test("The entries in comments are valid, too")
    func entries() throws {
        for (section, indent) in [("targets", "  "), ("tasks", "")] {
            let lines = ConfigurationTemplate.text.split(separator: "\n", omittingEmptySubsequences: false)
            let start = try #require(lines.firstIndex { $0 == "\(indent)# \(section):" })
            let entry = lines[start...].prefix { $0.hasPrefix("\(indent)# ") }.map { $0.dropFirst(indent.count + 2) }
            let text = entry.joined(separator: "\n")
            let file = section == "tasks" ? text : "reachability:\n" + entry.map { "  \($0)" }.joined(separator: "\n")
            let configuration = try Configuration.parse(file, file: "t.yml")
            #expect(configuration.tasks.count + configuration.targets.count == 1)
            #expect(
                configuration.targets.first?.target?.description ?? "api.example.com:443"
                    == "api.example.com:443")
            if let task = configuration.tasks.first {
                #expect(task.every == .seconds(300) && task.jitter == ScheduledTask().jitter)
            }
        }
    }
}
