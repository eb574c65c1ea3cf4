internal import ArgumentParser
internal import Tidegate

/// `tidegate generate kubernetes`: manifests of the sidecar.
struct GenerateKubernetesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kubernetes", abstract: "Print Kubernetes manifests of the sidecar.",
        discussion: """
            One sidecar on every node, which sees the node's own network, with its configuration and a PodMonitor for the \
            Prometheus operator. --pod prints a pod instead whose program has the sidecar beside it, at 127.0.0.1:9843. \
            packaging/Containerfile builds the image.

            Everyone who reaches the node or the pod can read the page and the metrics. --web.config.file among the \
            arguments adds TLS and passwords.

            Example: tidegate generate kubernetes --image registry.example.com/tidegate:1 | kubectl apply -f -
            """)

    @Option(help: .value("image", "The image."))
    var image = "tidegate:\(TidegateVersion.version)"

    @Option(help: .value("name", "The namespace."))
    var namespace = "monitoring"

    @Flag(help: "Print a pod with the sidecar beside its program.")
    var pod = false

    func validate() throws {
        // A name of Kubernetes is a label (RFC 1123); an image has its registry, tag and digest.
        guard self.namespace.wholeMatch(of: /[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/) != nil else {
            throw ValidationError(
                "--namespace: \"\(self.namespace)\" is not a name of lower-case letters, digits and -")
        }
        guard self.image.wholeMatch(of: /[A-Za-z0-9][-A-Za-z0-9.\/:@_]*/) != nil else {
            throw ValidationError("--image: \"\(self.image)\" is not the name of an image")
        }
    }

    func run() throws {
        let documents = self.pod ? [self.configMap, self.example] : [self.configMap, self.daemonSet, self.podMonitor]
        Terminal().print(documents.joined(separator: "\n---\n"))
    }

    // The configuration of nodes is not that of pods.
    private var name: String { self.pod ? "example" : "tidegate" }

    private func metadata(_ kind: String, _ version: String) -> String {
        """
        apiVersion: \(version)
        kind: \(kind)
        metadata:
          name: \(self.name)
          namespace: "\(self.namespace)"
          labels: {app.kubernetes.io/name: tidegate}
        """
    }

    private var configMap: String {
        """
        \(self.metadata("ConfigMap", "v1"))
        data:
          tidegate.yml: |
            # All keys: tidegate generate config
            reachability:
              targets: [{name: api, host: kubernetes.default.svc, port: 443}]
        """
    }

    private var daemonSet: String {
        """
        \(self.metadata("DaemonSet", "apps/v1"))
        spec:
          # The common label is for the PodMonitor: pods with a sidecar beside their program have it, too.
          selector:
            matchLabels: {app.kubernetes.io/name: tidegate, app.kubernetes.io/component: node}
          template:
            metadata:
              labels: {app.kubernetes.io/name: tidegate, app.kubernetes.io/component: node}
            spec:
              # The node's links, routes and connections.
              hostNetwork: true
              dnsPolicy: ClusterFirstWithHostNet
              automountServiceAccountToken: false
              terminationGracePeriodSeconds: 15
              tolerations: [{operator: Exists}]
              containers:
                - name: tidegate
        \(self.container(indent: 10))
        \(self.volumes(indent: 6))
        """
    }

    private var podMonitor: String {
        """
        \(self.metadata("PodMonitor", "monitoring.coreos.com/v1"))
        spec:
          selector:
            matchLabels: {app.kubernetes.io/name: tidegate}
          podMetricsEndpoints: [{port: tidegate, interval: 15s}]
        """
    }

    // A container that starts before the others and ends after them (Kubernetes 1.29).
    private var example: String {
        """
        \(self.metadata("Pod", "v1"))
        spec:
          automountServiceAccountToken: false
          initContainers:
            - name: tidegate
              restartPolicy: Always
        \(self.container(indent: 6))
          containers:
            - name: program
              image: program:1
        \(self.volumes(indent: 2))
        """
    }

    // The requests are the measured use with 20 targets, and as much again.
    private func container(indent: Int) -> String {
        self.indented(
            """
            image: "\(self.image)"
            args:
              - serve
              - --config.file=/etc/tidegate/tidegate.yml
              - --state.dir=/var/lib/tidegate
              - --control.socket=/run/tidegate/control.sock
              - --web.listen-address=:9843
            ports: [{name: tidegate, containerPort: 9843}]
            livenessProbe:
              httpGet: {path: /-/healthy, port: tidegate}
              periodSeconds: 10
            readinessProbe:
              httpGet: {path: /-/ready, port: tidegate}
              periodSeconds: 5
            resources:
              requests: {cpu: 20m, memory: 40Mi}
              limits: {memory: 160Mi}
            securityContext:
              runAsNonRoot: true
              runAsUser: 65532
              runAsGroup: 65532
              readOnlyRootFilesystem: true
              allowPrivilegeEscalation: false
              capabilities: {drop: [ALL]}
              seccompProfile: {type: RuntimeDefault}
            volumeMounts:
              - {name: config, mountPath: /etc/tidegate, readOnly: true}
              - {name: state, mountPath: /var/lib/tidegate}
              - {name: run, mountPath: /run/tidegate}
            """, by: indent)
    }

    // Accepted tasks outlive the container, not the pod. A volume in place of `state` keeps them longer.
    private func volumes(indent: Int) -> String {
        self.indented(
            """
            securityContext: {fsGroup: 65532}
            volumes:
              - {name: config, configMap: {name: \(self.name)}}
              - {name: state, emptyDir: {sizeLimit: 1Gi}}
              - {name: run, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
            """, by: indent)
    }

    private func indented(_ text: String, by count: Int) -> String {
        text.split(separator: "\n").map { String(repeating: " ", count: count) + $0 }.joined(separator: "\n")
    }
}
