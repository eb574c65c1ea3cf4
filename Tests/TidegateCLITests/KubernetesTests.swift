import Foundation
import Testing
import TidegateTestKit

@testable import TidegateDaemon

/// `tidegate generate kubernetes`, checked without a cluster.
@Suite struct KubernetesTests {
    /// The fields that the manifests use, with their types in the API of Kubernetes 1.29 and of the Prometheus operator.
    ///
    /// POD stands for a pod's specification, CONTAINER for a container's. Lists have no index.
    private static let fields = """
        CONTAINER.name text
        CONTAINER.image text
        CONTAINER.args text
        CONTAINER.restartPolicy Always
        CONTAINER.ports.name text
        CONTAINER.ports.containerPort integer
        CONTAINER.livenessProbe.httpGet.path text
        CONTAINER.livenessProbe.httpGet.port text
        CONTAINER.livenessProbe.periodSeconds integer
        CONTAINER.readinessProbe.httpGet.path text
        CONTAINER.readinessProbe.httpGet.port text
        CONTAINER.readinessProbe.periodSeconds integer
        CONTAINER.resources.requests.cpu quantity
        CONTAINER.resources.requests.memory quantity
        CONTAINER.resources.limits.memory quantity
        CONTAINER.securityContext.runAsNonRoot boolean
        CONTAINER.securityContext.runAsUser integer
        CONTAINER.securityContext.runAsGroup integer
        CONTAINER.securityContext.readOnlyRootFilesystem boolean
        CONTAINER.securityContext.allowPrivilegeEscalation boolean
        CONTAINER.securityContext.capabilities.drop text
        CONTAINER.securityContext.seccompProfile.type RuntimeDefault
        CONTAINER.volumeMounts.name text
        CONTAINER.volumeMounts.mountPath text
        CONTAINER.volumeMounts.readOnly boolean
        POD.hostNetwork boolean
        POD.dnsPolicy ClusterFirstWithHostNet
        POD.automountServiceAccountToken boolean
        POD.terminationGracePeriodSeconds integer
        POD.tolerations.operator Exists
        POD.securityContext.fsGroup integer
        POD.volumes.name text
        POD.volumes.configMap.name text
        POD.volumes.emptyDir.sizeLimit quantity
        POD.volumes.emptyDir.medium Memory
        ConfigMap.data.tidegate.yml text
        DaemonSet.spec.selector.matchLabels.app.kubernetes.io/name text
        DaemonSet.spec.selector.matchLabels.app.kubernetes.io/component node
        DaemonSet.spec.template.metadata.labels.app.kubernetes.io/name text
        DaemonSet.spec.template.metadata.labels.app.kubernetes.io/component node
        PodMonitor.spec.selector.matchLabels.app.kubernetes.io/name text
        PodMonitor.spec.podMetricsEndpoints.port text
        PodMonitor.spec.podMetricsEndpoints.interval duration
        """
    private static let versions = [
        "ConfigMap": "v1", "DaemonSet": "apps/v1", "Pod": "v1", "PodMonitor": "monitoring.coreos.com/v1",
    ]

    private static func types(of kind: String) -> [String: String] {
        let pod = kind == "Pod" ? "Pod.spec" : "\(kind).spec.template.spec"
        var types = ["kind": kind, "apiVersion": Self.versions[kind] ?? ""].merging(
            ["name", "namespace", "labels.app.kubernetes.io/name"].map { ("metadata.\($0)", "text") }
        ) { $1 }
        for line in self.fields.split(separator: "\n") {
            let parts = line.split(separator: " ").map(String.init)
            for list in ["containers", "initContainers"] {
                let path = parts[0].replacing("CONTAINER", with: "POD.\(list)").replacing(
                    "POD", with: pod, maxReplacements: parts[0].hasPrefix("PodM") ? 0 : 1)
                guard path.hasPrefix("\(kind).") else { continue }
                types[String(path.dropFirst(kind.count + 1))] = parts[1]
            }
        }
        return types
    }

    private static func isValid(_ text: String, _ type: String) -> Bool {
        switch type {
        case "text": !text.isEmpty
        case "integer": Int(text) != nil
        case "boolean": ["true", "false"].contains(text)
        case "quantity": text.wholeMatch(of: /[0-9]+(m|Ki|Mi|Gi)?/) != nil
        case "duration": text.wholeMatch(of: /[0-9]+(ms|s|m|h)/) != nil
        default: text == type
        }
    }

    /// The values below a node by their paths.
    private static func values(_ node: ConfigurationNode, _ path: String = "") -> [(path: String, text: String)] {
        switch node.content {
        case .null: [(path, "")]
        case .scalar(let text): [(path, text)]
        case .list(let nodes): nodes.flatMap { self.values($0, path) }
        case .section(let entries):
            entries.flatMap { self.values($0.value, path.isEmpty ? $0.key : "\(path).\($0.key)") }
        }
    }

    private func manifests(_ arguments: String...) async throws -> [[(path: String, text: String)]] {
        let command = [BuiltProduct.path(of: "tidegate"), "generate", "kubernetes"] + arguments
        return try await Program.expect(command).components(separatedBy: "\n---\n").map {
            Self.values(try #require(try YAMLFile.parse($0, file: "kubernetes.yml")))
        }
    }

    @Test("Every field is known and has its type", arguments: [[], ["--pod"]])
    func fields(_ arguments: [String]) async throws {
        let command = [BuiltProduct.path(of: "tidegate"), "generate", "kubernetes", "--namespace", "n"] + arguments
        let documents = try await Program.expect(command).components(separatedBy: "\n---\n")
        var kinds: [String] = []
        for document in documents {
            let values = Self.values(try #require(try YAMLFile.parse(document, file: "kubernetes.yml")))
            let kind = try #require(values.first { $0.path == "kind" }?.text)
            kinds.append(kind)
            let types = Self.types(of: kind)
            for (path, text) in values {
                let type = types[path]
                #expect(
                    type.map { Self.isValid(text, $0) } == true, "\(kind).\(path): \(text) is no \(type ?? "field")")
            }
            #expect(values.contains { $0 == ("metadata.namespace", "n") })
        }
        #expect(kinds == (arguments.isEmpty ? ["ConfigMap", "DaemonSet", "PodMonitor"] : ["ConfigMap", "Pod"]))
    }

    @Test("The configuration and the arguments are ones that the sidecar accepts, and volumes and ports fit")
    func consistent() async throws {
        let documents = try await self.manifests("--image", "registry.example:5000/t@sha256:0a")
        let configuration = try #require(documents[0].first { $0.path == "data.tidegate.yml" }?.text)
        let root = try #require(try YAMLFile.parse(configuration, file: "tidegate.yml"))
        _ = try Configuration(root, name: "tidegate.yml")
        let pod = Dictionary(grouping: documents[1]) { $0.path.replacing("spec.template.spec.", with: "") }
            .mapValues { $0.map(\.text) }
        #expect(pod["containers.image"] == ["registry.example:5000/t@sha256:0a"])
        #expect(pod["containers.volumeMounts.name"] == pod["volumes.name"])
        #expect(pod["containers.livenessProbe.httpGet.port"] == pod["containers.ports.name"])
        #expect(
            documents[2].first { $0.path == "spec.podMetricsEndpoints.port" }?.text
                == pod["containers.ports.name"]?.first)
        let arguments = try #require(pod["containers.args"])
        let check = try await Program.run(
            [BuiltProduct.path(of: "tidegate")]
                + arguments.map { $0.replacing("/etc/tidegate/tidegate.yml", with: "/dev/null") }
                + ["--config.check"])
        #expect(check.status == 0, "\(check)")
    }

    @Test(
        "An image or a namespace that is no name is refused",
        arguments: [
            ("--image", ["a b", "a\n", "{a", "@x"], "the name of an image"),
            ("--namespace", ["a b", "a\n", "A", "a_b", "-a", "a/b"], "a name of lower-case letters, digits and -"),
        ])
    func names(_ flag: String, _ names: [String], _ what: String) async throws {
        for name in names {
            let output = try await Program.run([
                BuiltProduct.path(of: "tidegate"), "generate", "kubernetes", "\(flag)=\(name)",
            ])
            #expect(output.status == 2 && output.errors.contains("\(flag): \"\(name)\" is not \(what)"), "\(output)")
        }
    }
}
