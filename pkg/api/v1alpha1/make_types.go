package v1alpha1

// MadeValue is a value of a Secret that nobody may choose, or values that belong together: Ambit makes them
// once, and anew when they are to be. Exactly one of random, bytes, uuid, keyPair, htpasswd, ca and certificate
// says what it is.
//
// +kubebuilder:validation:XValidation:rule="[has(self.random), has(self.bytes), has(self.uuid), has(self.keyPair), has(self.htpasswd), has(self.ca), has(self.certificate)].filter(x, x).size() == 1",message="say one of random, bytes, uuid, keyPair, htpasswd, ca, certificate"
// +kubebuilder:validation:XValidation:rule="has(self.key) != (has(self.ca) || has(self.certificate))",message="key is required, but for ca and certificate, whose keys are tls.crt, tls.key and ca.crt"
// +kubebuilder:validation:XValidation:rule="!has(self.rotate) || has(self.random) || has(self.bytes) || has(self.uuid) || has(self.keyPair)",message="rotate is for random, bytes, uuid and keyPair"
type MadeValue struct {
	// key is where the value stands in the Secret's data; of a key pair, the private key. A CA has the keys
	// tls.crt, tls.key, ca.crt, next.crt and next.key, a certificate tls.crt, tls.key and ca.crt.
	// +optional
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
	// random is text of random characters.
	// +optional
	Random *MadeText `json:"random,omitempty"`
	// bytes are random bytes.
	// +optional
	Bytes *MadeBytes `json:"bytes,omitempty"`
	// uuid is the text of a random UUID.
	// +optional
	UUID *MadeUUID `json:"uuid,omitempty"`
	// keyPair is a private key, with its public key under another key.
	// +optional
	KeyPair *MadeKeyPair `json:"keyPair,omitempty"`
	// htpasswd is a line for basic authentication, with a hash of a password that the same Secret has.
	// +optional
	Htpasswd *MadeHtpasswd `json:"htpasswd,omitempty"`
	// ca is a certificate authority that signs itself.
	// +optional
	CA *MadeCA `json:"ca,omitempty"`
	// certificate is one that a CA issues.
	// +optional
	Certificate *MadeCertificate `json:"certificate,omitempty"`
	// rotate says when the value is made anew though nothing is wrong with it, beside
	// `kubectl annotate secret NAME ambit.dev/rotate=TOKEN --overwrite`, which has every value of
	// the Secret made anew once for each new token.
	// +optional
	Rotate *Rotation `json:"rotate,omitempty"`
}

// MadeText is text of random characters.
type MadeText struct {
	// length is in characters. Together with characters it must make 80 bits: 8 to 4096.
	// +required
	// +kubebuilder:validation:Minimum=8
	// +kubebuilder:validation:Maximum=4096
	Length int32 `json:"length"`
	// characters are those of the text. Default alphanumeric. A value that is there stays when this is
	// changed: rotate it.
	// +optional
	Characters CharacterSet `json:"characters,omitempty"`
}

// CharacterSet names a set of characters.
// +kubebuilder:validation:Enum=alphanumeric;digits;hex;lowercase;symbols
type CharacterSet string

// MadeBytes are random bytes.
type MadeBytes struct {
	// length is how many bytes: 10 to 4096.
	// +required
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=4096
	Length int32 `json:"length"`
}

// MadeUUID is the text of a random UUID, of version 4.
type MadeUUID struct{}

// MadeKeyPair is a private key with its public key.
type MadeKeyPair struct {
	// publicKey is the key of the Secret's data where the public key stands.
	// +required
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:MaxLength=253
	PublicKey string `json:"publicKey"`
	// format is PEM, which is PKCS #8 and PKIX, or SSH, which is what ssh-keygen writes. Default PEM.
	// +optional
	Format KeyFormat `json:"format,omitempty"`
	// algorithm of a new key. Default ECDSA-P256, or Ed25519 for SSH.
	// +optional
	Algorithm KeyAlgorithm `json:"algorithm,omitempty"`
}

// KeyFormat is how keys are written.
// +kubebuilder:validation:Enum=PEM;SSH
type KeyFormat string

// KeyFormatSSH is what ssh-keygen writes.
const KeyFormatSSH KeyFormat = "SSH"

// KeyAlgorithm is that of a private key.
// +kubebuilder:validation:Enum=ECDSA-P256;ECDSA-P384;Ed25519;RSA-2048;RSA-3072;RSA-4096
type KeyAlgorithm string

// MadeHtpasswd is a line for basic authentication, with a bcrypt hash.
type MadeHtpasswd struct {
	// user is the name; `${...}` in it holds CEL.
	// +required
	// +kubebuilder:validation:MaxLength=4096
	User string `json:"user"`
	// password is the key of a random text of the same child, of at most 72 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:MaxLength=253
	Password string `json:"password"`
}

// MadeCA is a certificate authority. It is renewed by overlap: the next one joins the bundle ca.crt, signs after
// propagation, and the one before leaves when its last certificate has ended.
type MadeCA struct {
	// commonName is its name, of at most 64 bytes; `${...}` in it holds CEL. Default: the id of the child.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	CommonName string `json:"commonName,omitempty"`
	// lifetime is how long it is valid, as in 8760h.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Lifetime string `json:"lifetime"`
	// renewAt is the part of its lifetime after which it is renewed: 0.1 to 0.9. Default 0.66.
	// +optional
	// +kubebuilder:validation:Minimum=0.1
	// +kubebuilder:validation:Maximum=0.9
	RenewAt float64 `json:"renewAt,omitempty"`
	// propagation is how long clients may take to get a new ca.crt: the next CA signs nothing before.
	// Default 1h.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Propagation string `json:"propagation,omitempty"`
	// algorithm of a new key. Default ECDSA-P256.
	// +optional
	Algorithm KeyAlgorithm `json:"algorithm,omitempty"`
}

// MadeCertificate is a certificate that a CA issues, with its private key and the CA's bundle.
type MadeCertificate struct {
	// issuer is the id of a child that makes a ca, or of a watch of one Secret with a CA in tls.crt and
	// tls.key.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Issuer string `json:"issuer"`
	// commonName is a name, of at most 64 bytes; `${...}` in it holds CEL. Default none.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	CommonName string `json:"commonName,omitempty"`
	// dnsNames are names of whom it is for; `${...}` in them holds CEL.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	DNSNames []string `json:"dnsNames,omitempty"`
	// ipAddresses are addresses of whom it is for; `${...}` in them holds CEL.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	IPAddresses []string `json:"ipAddresses,omitempty"`
	// usages are what it is for. Default server.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	Usages []CertificateUsage `json:"usages,omitempty"`
	// lifetime is how long it is valid, as in 2160h. It ends with its CA at the latest.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Lifetime string `json:"lifetime"`
	// renewAt is the part of its lifetime after which it is renewed: 0.1 to 0.9. Default 0.66.
	// +optional
	// +kubebuilder:validation:Minimum=0.1
	// +kubebuilder:validation:Maximum=0.9
	RenewAt float64 `json:"renewAt,omitempty"`
	// algorithm of a new key. Default ECDSA-P256.
	// +optional
	Algorithm KeyAlgorithm `json:"algorithm,omitempty"`
}

// CertificateUsage is what a certificate is for.
// +kubebuilder:validation:Enum=server;client
type CertificateUsage string

// The usages of certificates.
const (
	UsageServer CertificateUsage = "server"
	UsageClient CertificateUsage = "client"
)

// Rotation says when a value is made anew.
type Rotation struct {
	// after is the age at which it is, as in 2160h; at least 1m. Default never.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	After string `json:"after,omitempty"`
	// keepPrevious is the key of the Secret's data under which the value before stays until the next
	// rotation. Default: it does not.
	// +optional
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +kubebuilder:validation:MaxLength=253
	KeepPrevious string `json:"keepPrevious,omitempty"`
}
